import { Controller, Delete, HttpCode, Inject, type MessageEvent, Post, Sse } from '@nestjs/common';
import { type DestinationDetails, DestinationsService } from 'nestjs-analytics';
import { map, type Observable } from 'rxjs';
import { CurrentVisitor } from '../shop/current-visitor.decorator.js';
import { Visitor } from '../shop/visitor.js';
import { OwnDeliveries } from './own-deliveries.js';

/** Where the applications of the visitors listen: here they are all this process. */
export const OWN_HOOKS_URL = Symbol('OWN_HOOKS_URL');

/** A visitor's own webhook: it gets what this visitor does, and nothing of the others. */
@Controller('webhook')
export class WebhookController {
  constructor(
    private readonly destinations: DestinationsService,
    private readonly deliveries: OwnDeliveries,
    @Inject(OWN_HOOKS_URL) private readonly url: string,
  ) {}

  /** Registers it, or points it here if the shop had another port before. */
  @Post()
  @HttpCode(200)
  async register(@CurrentVisitor() { id: tenant }: Visitor): Promise<DestinationDetails> {
    const urls = [`${this.url}/${tenant}`];
    const known = await this.find(tenant);
    if (known !== undefined) return this.destinations.update(known.id, { urls }, { tenant });
    // Nobody else knows a visitor's id, so it serves as the secret of this receiver.
    return this.destinations.create({ tenant, urls, sharedSecret: tenant, events: ['Order *'] });
  }

  @Delete()
  @HttpCode(204)
  async remove(@CurrentVisitor() { id: tenant }: Visitor): Promise<void> {
    const known = await this.find(tenant);
    if (known !== undefined) await this.destinations.delete(known.id, { tenant });
  }

  /** Server-sent events: what the visitor's webhook got so far, and then each as it arrives. */
  @Sse('deliveries')
  stream(@CurrentVisitor() { id }: Visitor): Observable<MessageEvent> {
    return this.deliveries.of(id).pipe(map((delivery) => ({ data: delivery })));
  }

  private async find(tenant: string): Promise<DestinationDetails | undefined> {
    const { destinations } = await this.destinations.list({ tenant, limit: 1 });
    return destinations[0];
  }
}
