import type { Order } from './orders.js';

/** The shop's events. `track()` and `@Track` complete their names, check their properties, and accept no others. */
declare module 'nestjs-analytics' {
  interface AnalyticsEvents {
    'Order Completed': Order;
    'Order Returned': Order;
    'Order Refused': { product: string };
  }
}
