import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Injectable, Module, Param } from '@nestjs/common';
import { Track } from '../../../src/index.js';
import { type DecoratedApp, DecoratedApps } from './support/decorated-app.js';

const apps = DecoratedApps.forThisFile();

@Injectable()
class Stock {
  @Track('Stock Taken')
  take(): void {
    return undefined;
  }
}

@Controller('orders')
class OrdersController {
  constructor(private readonly stock: Stock) {}

  @Get(':id')
  @Track('Order Viewed', { properties: ({ args: [id] }) => ({ id }) })
  view(@Param('id') id: string): string {
    this.stock.take();
    return id;
  }
}

/** Injects no service of the analytics module, and does not import it. */
@Module({ controllers: [OrdersController], providers: [Stock] })
class OrdersModule {}

function start(): Promise<DecoratedApp> {
  const analytics = { isGlobal: false, identity: () => ({ userId: 'u1' }) };
  return apps.start({ analytics, imports: [OrdersModule] });
}

describe('decorators with `isGlobal: false`', () => {
  it('record in modules that do not import the module, each in its own application', async () => {
    const [first, second] = [await start(), await start()];
    await first.request('/orders/1');
    await second.request('/orders/2');
    for (const [app, id] of [
      [first, '1'],
      [second, '2'],
    ] as const) {
      expect(app.messages).toEqual([
        expect.objectContaining({ event: 'Stock Taken', userId: 'u1' }),
        expect.objectContaining({ event: 'Order Viewed', userId: 'u1', properties: { id } }),
      ]);
    }
  });
});
