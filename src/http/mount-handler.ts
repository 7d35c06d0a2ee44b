import { Logger } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import type { HttpHandler } from './http-handler.js';
import type { HttpMount } from './http-mount.js';

/** Mounts a handler, where the application has asked for it. Others load nothing of it. */
export async function mountHandler(
  host: HttpAdapterHost,
  handler: HttpHandler | undefined,
): Promise<HttpMount | undefined> {
  if (handler === undefined) return undefined;
  const { HttpMount } = await import('./http-mount.js');
  return new HttpMount(host, handler, new Logger('Analytics'));
}
