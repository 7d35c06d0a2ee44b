import type { ExecutionContext } from '@nestjs/common';
import type { AnalyticsRequest } from '../../options/request-context.types.js';

/** Reads a property of any value. */
export function propertyOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** Returns the request behind a handler's call, wherever the transport keeps it. */
export function requestOf(host: ExecutionContext): AnalyticsRequest | undefined {
  return candidatesOf(host).find(isRequest);
}

function candidatesOf(host: ExecutionContext): unknown[] {
  switch (host.getType<string>()) {
    case 'http':
      return [host.switchToHttp().getRequest<unknown>()];
    case 'graphql': {
      // The third argument of every resolver is the context; drivers differ in what they call the request.
      const context: unknown = host.getArgByIndex(2);
      return [
        propertyOf(context, 'req'),
        propertyOf(context, 'request'),
        propertyOf(propertyOf(context, 'extra'), 'request'),
      ];
    }
    case 'ws': {
      // Socket.IO keeps the handshake. With `ws`, a gateway may store the request in `handleConnection`.
      const client: unknown = host.switchToWs().getClient();
      return [propertyOf(client, 'handshake'), propertyOf(client, 'request')];
    }
    default:
      return [];
  }
}

function isRequest(value: unknown): value is AnalyticsRequest {
  const headers = propertyOf(value, 'headers');
  return typeof headers === 'object' && headers !== null;
}
