import {
  type CanActivate,
  type ExecutionContext,
  Inject,
  mixin,
  type Type,
  UnauthorizedException,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { InvalidSecretError } from '../errors/invalid-secret.error.js';
import { WebhookVerificationError } from '../errors/webhook-verification.error.js';
import { rawBodyOf, type WebhookRequest } from './raw-body.js';
import { sharedSecrets, verifySignature } from './verify-signature.js';
import {
  standardKeys,
  type StandardWebhookOptions,
  verifyStandardWebhook,
} from './verify-standard-webhook.js';

type Secrets = string | readonly string[];

/**
 * A secret, or several of which one has to match, or a function that finds them for a request: with the
 * `ModuleRef` it reaches the application's providers.
 */
export type SecretSource =
  Secrets | ((context: ExecutionContext, moduleRef: ModuleRef) => Secrets | Promise<Secrets>);

/** What a receiver verifies. At least one is given; of both, both have to hold. */
export interface WebhookSignatureGuardOptions {
  /** Verifies `X-Signature` with the `sharedSecret` of the webhooks destination. */
  sharedSecret?: SecretSource;
  /** Verifies `webhook-signature` and `webhook-timestamp` with the destination's `standardWebhooks.secret`. */
  standardWebhooks?: StandardWebhookOptions & { secret: SecretSource };
}

/**
 * Makes a guard that lets through only webhooks whose signature is right, on Express and on Fastify, and
 * answers all others with 401. The application has to keep raw bodies:
 * `NestFactory.create(AppModule, { rawBody: true })`.
 *
 * A missing or malformed secret, or a missing raw body, is a fault of the receiver: the request is answered
 * with 500, so that it comes again, and the error is logged.
 *
 * @throws {InvalidSecretError} when a secret that is given as a value is missing, empty or malformed
 *
 * @example
 * @UseGuards(webhookSignatureGuard({ sharedSecret: (_, app) => app.get(Config, { strict: false }).secret }))
 * @Post('events')
 * receive(@Body() event: object) {}
 */
export function webhookSignatureGuard(options: WebhookSignatureGuardOptions): Type<CanActivate> {
  checkSecrets(options);
  const { sharedSecret, standardWebhooks } = options;

  class WebhookSignatureGuard implements CanActivate {
    constructor(@Inject(ModuleRef) private readonly moduleRef: ModuleRef) {}

    async canActivate(context: ExecutionContext): Promise<boolean> {
      const request = context.switchToHttp().getRequest<WebhookRequest>();
      const rawBody = rawBodyOf(request);
      if (sharedSecret !== undefined) {
        const secret = await this.find(sharedSecret, context);
        if (!verifySignature(rawBody, request.headers['x-signature'], secret)) {
          throw new UnauthorizedException('The webhook is not verified: `X-Signature` is missing or wrong.');
        }
      }
      if (standardWebhooks !== undefined) {
        const secret = await this.find(standardWebhooks.secret, context);
        try {
          verifyStandardWebhook(rawBody, request.headers, secret, standardWebhooks);
        } catch (cause) {
          if (!(cause instanceof WebhookVerificationError)) throw cause;
          throw new UnauthorizedException(cause.message, { cause });
        }
      }
      return true;
    }

    private find(source: SecretSource, context: ExecutionContext): Secrets | Promise<Secrets> {
      return typeof source === 'function' ? source(context, this.moduleRef) : source;
    }
  }

  return mixin(WebhookSignatureGuard);
}

/** An option that is named but has no value is an unset variable, which must not switch a check off. */
function checkSecrets(options: WebhookSignatureGuardOptions): void {
  const hasShared = 'sharedSecret' in options;
  const hasStandard = 'standardWebhooks' in options;
  if (!hasShared && !hasStandard) {
    throw new InvalidSecretError('sharedSecret', 'given, or else `standardWebhooks`');
  }
  if (hasShared && typeof options.sharedSecret !== 'function') sharedSecrets(options.sharedSecret);
  const standard = options.standardWebhooks?.secret;
  if (hasStandard && typeof standard !== 'function') standardKeys(standard);
}
