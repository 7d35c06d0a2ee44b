/** Injection token of the HTTP clients of all webhooks destinations, which are loaded when an application starts. */
export const WEBHOOK_CLIENTS = Symbol('nestjs-analytics:webhook-clients');

/** The name that `integrations` uses for every webhooks destination. */
export const WEBHOOKS_NAME = 'Webhooks';
