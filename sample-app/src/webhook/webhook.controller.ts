import { Controller, Delete, HttpCode, Inject, type MessageEvent, Post, Sse } from '@nestjs/common';
import { type DestinationDetails, DestinationsService } from 'nestjs-analytics';
import { map, type Observable } from 'rxjs';
import { CurrentVisitor } from '../shop/current-visitor.decorator.js';
import { Visitor } from '../shop/visitor.js';
import { OwnDeliveries } from './own-deliveries.js';

/** URL at which the visitors' applications listen. In this sample, they all are this process. */
export const OWN_HOOKS_URL = Symbol('OWN_HOOKS_URL');

/** A visitor's own webhook, which gets the order events of this visitor only. */
@Controller('webhook')
export class WebhookController {
  constructor(
    private readonly destinations: DestinationsService,
    private readonly deliveries: OwnDeliveries,
    @Inject(OWN_HOOKS_URL) private readonly url: string,
  ) {}

  /** Registers the webhook. If it exists, updates its URL, because the shop's port may have changed. */
  @Post()
  @HttpCode(200)
  async register(@CurrentVisitor() { id: tenant }: Visitor): Promise<DestinationDetails> {
    const urls = [`${this.url}/${tenant}`];
    const known = await this.find(tenant);
    if (known !== undefined) return this.destinations.update(known.id, { urls }, { tenant });
    // Nobody else knows a visitor's id, so the id serves as the secret of the visitor's receiver.
    return this.destinations.create({ tenant, urls, sharedSecret: tenant, events: ['Order *'] });
  }

  @Delete()
  @HttpCode(204)
  async remove(@CurrentVisitor() { id: tenant }: Visitor): Promise<void> {
    const known = await this.find(tenant);
    if (known !== undefined) await this.destinations.delete(known.id, { tenant });
  }

  /** Streams server-sent events: the webhook's deliveries so far, then each new delivery as it arrives. */
  @Sse('deliveries')
  stream(@CurrentVisitor() { id }: Visitor): Observable<MessageEvent> {
    return this.deliveries.of(id).pipe(map((delivery) => ({ data: delivery })));
  }

  private async find(tenant: string): Promise<DestinationDetails | undefined> {
    const { destinations } = await this.destinations.list({ tenant, limit: 1 });
    return destinations[0];
  }
}
