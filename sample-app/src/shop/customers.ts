import { randomUUID } from 'node:crypto';
import { ConflictException, ForbiddenException, Injectable } from '@nestjs/common';

export interface Customer {
  id: string;
  name: string;
  email: string;
  company?: string;
}

/** The customers who have signed up, by visitor id. They are only in memory, so a restart forgets them. */
@Injectable()
export class Customers {
  private readonly byVisitor = new Map<string, Customer>();

  /** Returns the customer behind a visitor, or `undefined` if the visitor has not signed up. */
  find(visitorId: string): Customer | undefined {
    return this.byVisitor.get(visitorId);
  }

  /** Returns the customer behind a visitor, or throws a 403 if the visitor has not signed up. */
  require(visitorId: string): Customer {
    const customer = this.find(visitorId);
    if (customer === undefined) throw new ForbiddenException('Sign up first.');
    return customer;
  }

  signUp(visitorId: string, { name, email }: Pick<Customer, 'name' | 'email'>): Customer {
    if (this.byVisitor.has(visitorId)) throw new ConflictException('You already have an account.');
    const customer = { id: randomUUID(), name, email };
    this.byVisitor.set(visitorId, customer);
    return customer;
  }

  joinCompany(visitorId: string, company: string): void {
    this.byVisitor.set(visitorId, { ...this.require(visitorId), company });
  }

  delete(visitorId: string): void {
    this.byVisitor.delete(visitorId);
  }
}
