import type { Customer, Customers } from './customers.js';

/** Whoever sends a request: a stranger at first, a customer from signing up until the account is deleted. */
export class Visitor {
  constructor(
    readonly id: string,
    private readonly customers: Customers,
  ) {}

  get customer(): Customer | undefined {
    return this.customers.find(this.id);
  }
}

// What the option `identity` of the analytics reads, once the middleware has put it there.
declare module 'nestjs-analytics' {
  interface AnalyticsRequest {
    visitor?: Visitor;
  }
}
