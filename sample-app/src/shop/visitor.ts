import type { Customer, Customers } from './customers.js';

/** The sender of a request, who is a customer from the sign-up until the account is deleted. */
export class Visitor {
  constructor(
    readonly id: string,
    private readonly customers: Customers,
  ) {}

  get customer(): Customer | undefined {
    return this.customers.find(this.id);
  }
}

// `VisitorMiddleware` sets this property, and the option `identity` reads it.
declare module 'nestjs-analytics' {
  interface AnalyticsRequest {
    visitor?: Visitor;
  }
}
