import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { AnalyticsRequest } from 'nestjs-analytics';
import type { Visitor } from './visitor.js';

/** Injects the visitor who sent the request. */
export const CurrentVisitor = createParamDecorator((_data: unknown, context: ExecutionContext): Visitor => {
  const { visitor } = context.switchToHttp().getRequest<AnalyticsRequest>();
  if (visitor === undefined) throw new Error('VisitorMiddleware does not run before this handler.');
  return visitor;
});
