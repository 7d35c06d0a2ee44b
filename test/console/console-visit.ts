import { afterAll, beforeAll } from '@jest/globals';
import type { TestConnection } from '../support/describe-backend.js';
import { quickConnections } from '../support/quick-connections.js';
import { Visitor } from './visitor.js';

const TIMEOUT = 120_000;

/** An application whose console can be visited. */
interface Visited {
  /** URL of the console. */
  readonly url: string;
  close(): Promise<unknown>;
}

/** Starts an application before the tests of a suite, and a visitor of its console. Ends both after the tests. */
export class ConsoleVisit<T extends Visited> {
  private opened: { app: T; visitor: Visitor } | undefined;

  constructor(start: (connection: TestConnection) => Promise<T>, user: string) {
    // Registered first, so that the application is closed before the server of its queue.
    afterAll(async () => {
      await this.opened?.visitor.close();
      await this.opened?.app.close();
    }, TIMEOUT);
    const newConnection = quickConnections();
    beforeAll(async () => {
      const app = await start(await newConnection());
      this.opened = { app, visitor: await Visitor.open(app.url, user) };
    }, TIMEOUT);
  }

  get app(): T {
    return this.now.app;
  }

  get visitor(): Visitor {
    return this.now.visitor;
  }

  private get now(): { app: T; visitor: Visitor } {
    if (this.opened === undefined) throw new Error('A console is visited only while a test runs');
    return this.opened;
  }
}
