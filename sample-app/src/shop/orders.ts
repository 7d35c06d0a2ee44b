import { randomUUID } from 'node:crypto';
import { Injectable, NotFoundException } from '@nestjs/common';
import type { Product } from './catalogue.js';
import { Customers } from './customers.js';

export interface Order {
  orderId: string;
  product: string;
  revenue: number;
  currency: 'EUR';
}

export function orderOf({ slug, price }: Product): Order {
  return { orderId: randomUUID(), product: slug, revenue: price, currency: 'EUR' };
}

/** The orders so far, by visitor id. Orders from before a sign-up count for the new account. */
@Injectable()
export class Orders {
  private readonly byVisitor = new Map<string, Order[]>();

  constructor(private readonly customers: Customers) {}

  place(visitorId: string, product: Product): Order {
    const order = orderOf(product);
    this.add(visitorId, order);
    return order;
  }

  add(visitorId: string, order: Order): void {
    this.byVisitor.set(visitorId, [...this.of(visitorId), order]);
  }

  takeBack(visitorId: string, orderId: string): Order {
    const orders = this.of(visitorId);
    const order = orders.find((candidate) => candidate.orderId === orderId);
    if (order === undefined) throw new NotFoundException('You have no such order.');
    this.byVisitor.set(
      visitorId,
      orders.filter((candidate) => candidate !== order),
    );
    return order;
  }

  /** Yields the ids of the customers who have spent more than this amount, in euros. */
  *customersAbove(amount: number): Generator<string, void> {
    for (const [visitorId, orders] of this.byVisitor) {
      const customer = this.customers.find(visitorId);
      const spent = orders.reduce((sum, { revenue }) => sum + revenue, 0);
      if (customer !== undefined && spent > amount) yield customer.id;
    }
  }

  private of(visitorId: string): Order[] {
    return this.byVisitor.get(visitorId) ?? [];
  }
}
