import { DestinationsService } from '../../src/index.js';
import { messageIn } from '../support/received-message.js';
import { ConsoleVisit } from './console-visit.js';
import { ProxiedConsole } from './proxied-console.js';
import { RowList } from './row-list.js';

const TENANT = 'acme';
const REFUSAL = 400;

/** A customer's visit of a console. The receiver of the customer's events refuses those with the name `Refused`. */
export class RefusingVisit extends ConsoleVisit<ProxiedConsole> {
  private readonly refused: { status: number };

  constructor() {
    const refused = { status: REFUSAL };
    super(
      (connection) =>
        ProxiedConsole.start(connection, {
          answer: (request) => (messageIn(request).event === 'Refused' ? refused.status : 200),
        }),
      TENANT,
    );
    this.refused = refused;
  }

  /** The messages that the page shows as failed. */
  get list(): RowList {
    return new RowList(this.visitor.page, '[aria-label="Messages that failed for good"]');
  }

  /** Shows a destination of which nothing has failed yet, and resolves to its id. */
  async open(): Promise<string> {
    this.refused.status = REFUSAL;
    const { server, receiver } = this.app.app;
    const destinations = server.app.get(DestinationsService);
    for (const { id } of (await destinations.list({ tenant: TENANT })).destinations)
      await destinations.delete(id);
    const { id } = await destinations.create({ tenant: TENANT, urls: [receiver.url()] });
    await this.visitor.goTo(`#/destinations/${id}`);
    await this.visitor.reads('No matching message has failed for good.');
    return id;
  }

  track(event: 'Refused' | 'Taken'): string {
    return this.app.app.server.analytics.tenant(TENANT).track({ userId: 'u1', event });
  }

  /** Lets the receiver take what it has refused, if that is delivered again. */
  takeRefused(): void {
    this.refused.status = 200;
  }
}
