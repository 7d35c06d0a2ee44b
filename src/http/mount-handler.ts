import type { HttpAdapterHost } from '@nestjs/core';
import type { HttpHandler } from './http-handler.js';
import type { HttpMount } from './http-mount.js';
import { AnalyticsLogger } from '../shared/analytics-logger.js';

/** Mounts a handler if the application has asked for it. Other applications do not load the code that mounts it. */
export async function mountHandler(
  host: HttpAdapterHost,
  handler: HttpHandler | undefined,
): Promise<HttpMount | undefined> {
  if (handler === undefined) return undefined;
  const { HttpMount } = await import('./http-mount.js');
  return new HttpMount(host, handler, new AnalyticsLogger());
}
