import type { AbstractHttpAdapter } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';

export function createHttpAdapter(): AbstractHttpAdapter {
  return new ExpressAdapter();
}
