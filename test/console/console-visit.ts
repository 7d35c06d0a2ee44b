import { afterAll, beforeAll } from '@jest/globals';
import type { TestConnection } from '../support/describe-backend.js';
import { quickConnections } from '../support/quick-connections.js';
import { Visitor } from './visitor.js';

const TIMEOUT = 120_000;

/** Something with a console that is visited. */
interface Visited {
  /** Of the console. */
  readonly url: string;
  close(): Promise<unknown>;
}

/** Starts an application before the tests of a suite, with somebody who visits its console; ends both after them. */
export class ConsoleVisit<T extends Visited> {
  private opened: { app: T; visitor: Visitor } | undefined;

  constructor(start: (connection: TestConnection) => Promise<T>, user: string) {
    // The first to be called: the application is closed before the server of its queue.
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
