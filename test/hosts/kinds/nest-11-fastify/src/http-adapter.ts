import type { AbstractHttpAdapter } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';

export function createHttpAdapter(): AbstractHttpAdapter {
  return new FastifyAdapter();
}
