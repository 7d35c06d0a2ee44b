import { randomUUID } from 'node:crypto';
import { ConflictException, ForbiddenException, Injectable } from '@nestjs/common';

export interface Customer {
  id: string;
  name: string;
  email: string;
  company?: string;
}

/** Who has signed up, by visitor id. In memory: a restart makes everyone a stranger again. */
@Injectable()
export class Customers {
  private readonly byVisitor = new Map<string, Customer>();

  /** The customer behind a visitor, if that one has signed up. */
  find(visitorId: string): Customer | undefined {
    return this.byVisitor.get(visitorId);
  }

  /** The customer behind a visitor; 403 for a stranger. */
  require(visitorId: string): Customer {
    const customer = this.find(visitorId);
    if (customer === undefined) throw new ForbiddenException('Sign up first.');
    return customer;
  }

  signUp(visitorId: string, { name, email }: Pick<Customer, 'name' | 'email'>): Customer {
    if (this.byVisitor.has(visitorId)) throw new ConflictException('You have an account already.');
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
