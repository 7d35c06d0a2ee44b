import {
  type CanActivate,
  type ExecutionContext,
  Inject,
  mixin,
  type Type,
  UnauthorizedException,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { InvalidSecretError, WebhookVerificationError } from '../errors/receiver.errors.js';
import { rawBodyOf, type IncomingWebhook } from './received-webhook.js';
import { sharedSecrets, verifySignature } from './verify-signature.js';
import {
  standardKeys,
  type StandardWebhookOptions,
  verifyStandardWebhook,
} from './verify-standard-webhook.js';

type Secrets = string | readonly string[];

/**
 * A secret, several secrets of which one has to match, or a function that returns them for a request. With the
 * `ModuleRef`, the function can reach the application's providers.
 */
export type SecretSource =
  Secrets | ((context: ExecutionContext, moduleRef: ModuleRef) => Secrets | Promise<Secrets>);

/** What a receiver verifies. Give at least one. If both are given, both have to match. */
export interface WebhookSignatureGuardOptions {
  /** Verifies `X-Signature` with the `sharedSecret` of the webhooks destination. */
  sharedSecret?: SecretSource;
  /** Verifies `webhook-signature` and `webhook-timestamp` with the destination's `standardWebhooks.secret`. */
  standardWebhooks?: StandardWebhookOptions & { secret: SecretSource };
}

/**
 * Creates a guard for Express and Fastify that lets only webhooks with a valid signature through. It answers all other
 * webhooks, and any body that is not JSON in UTF-8, with 401. The application has to keep raw bodies:
 * `NestFactory.create(AppModule, { rawBody: true })`, and no body parser of its own before it, such as
 * `app.use(express.json())`: on Express, `app.useBodyParser('json', { limit })` does the same and keeps them.
 *
 * A missing or malformed secret, or a missing raw body, is an error of the receiver. The request is answered
 * with 500, so that it is sent again, and the error is logged.
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
      const request = context.switchToHttp().getRequest<IncomingWebhook>();
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

/** Checks the secrets. An option whose key has no value is an unset variable, which must not turn a check off. */
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
