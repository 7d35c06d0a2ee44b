import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable, type NestMiddleware } from '@nestjs/common';
import type { AnalyticsRequest } from 'nestjs-analytics';
import { Customers } from './customers.js';
import { readVisitorCookie, visitorCookie } from './visitor-cookie.js';
import { Visitor } from './visitor.js';

/** Puts the visitor on the request. A visitor without a cookie is new, and gets a cookie with the answer. */
@Injectable()
export class VisitorMiddleware implements NestMiddleware {
  constructor(private readonly customers: Customers) {}

  use(
    request: IncomingMessage & Pick<AnalyticsRequest, 'visitor'>,
    response: ServerResponse,
    next: () => void,
  ): void {
    let id = readVisitorCookie(request.headers.cookie);
    if (id === undefined) {
      id = randomUUID();
      response.setHeader('Set-Cookie', visitorCookie(id));
    }
    request.visitor = new Visitor(id, this.customers);
    next();
  }
}
