import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket as Connection } from 'node:net';

/** What a server answers: addresses, an error, nothing at all, or addresses after a while. */
export type DnsAnswer =
  | string[]
  | 'NXDOMAIN'
  | 'SERVFAIL'
  | 'REFUSED'
  | 'silent'
  | { addresses: string[]; after?: number; ttl?: number };

export type RecordType = 'A' | 'AAAA';

export interface DnsQuestion {
  name: string;
  type: RecordType;
}

const RCODES = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;
const TYPES: Record<number, RecordType> = { 1: 'A', 28: 'AAAA' };

/** The largest answer in a datagram, in bytes. For a larger one, the client has to ask again over TCP. */
const MAX_DATAGRAM = 512;
/** The flag of an answer that is too large for a datagram. */
const TRUNCATED = 0x0200;

/**
 * A real DNS server on the loopback interface, over UDP and TCP, whose answers to questions for A and AAAA a test
 * chooses.
 */
export class DnsServer {
  readonly questions: DnsQuestion[] = [];
  private readonly late = new Set<NodeJS.Timeout>();

  private constructor(
    private readonly socket: Socket,
    private readonly server: Server,
    private readonly answer: (question: DnsQuestion) => DnsAnswer,
  ) {
    socket.on('message', (query, from) => {
      const question = this.read(query);
      if (question === undefined) return;
      this.respond(query, question, (response) => {
        const isWhole = response.length <= MAX_DATAGRAM;
        socket.send(isWhole ? response : truncated(response), from.port, from.address);
      });
    });
    server.on('connection', (connection) => {
      this.serve(connection);
    });
  }

  static async start(answer: (question: DnsQuestion) => DnsAnswer): Promise<DnsServer> {
    for (let attempt = 1; ; attempt++) {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const socket = createSocket('udp4');
      const address = server.address();
      socket.bind(typeof address === 'object' ? address?.port : 0, '127.0.0.1');
      try {
        await once(socket, 'listening');
        return new DnsServer(socket, server, answer);
      } catch (error) {
        // Another process may have the same port over UDP.
        socket.close();
        server.close();
        if (attempt === 5) throw error;
      }
    }
  }

  /** The address in the form that a resolver accepts. */
  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  /** Returns how often a name was asked for, for either type. */
  asked(name: string): number {
    return this.questions.filter((question) => question.name === name).length;
  }

  async close(): Promise<void> {
    for (const timer of this.late) clearTimeout(timer);
    this.socket.close();
    this.server.close();
    await Promise.all([once(this.socket, 'close'), once(this.server, 'close')]);
  }

  /** Over TCP, a message follows its length. The client closes the connection. */
  private serve(connection: Connection): void {
    let received = Buffer.alloc(0);
    connection.on('error', () => undefined);
    connection.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0);
        const query = received.subarray(2, end);
        received = received.subarray(end);
        const question = this.read(query);
        if (question === undefined) continue;
        this.respond(query, question, (response) => {
          const length = Buffer.alloc(2);
          length.writeUInt16BE(response.length);
          connection.write(Buffer.concat([length, response]));
        });
      }
    });
  }

  /** Returns the question of a query, or `undefined` if its type is neither A nor AAAA. */
  private read(query: Buffer): (DnsQuestion & { end: number }) | undefined {
    const labels: string[] = [];
    let at = 12;
    for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const type = TYPES[query.readUInt16BE(at + 1)];
    return type === undefined ? undefined : { name: labels.join('.').toLowerCase(), type, end: at + 5 };
  }

  private respond(
    query: Buffer,
    { name, type, end }: DnsQuestion & { end: number },
    send: (response: Buffer) => void,
  ): void {
    const question = { name, type };
    this.questions.push(question);
    const answer = this.answer(question);
    if (answer === 'silent') return;
    const { addresses, after, ttl } = Array.isArray(answer)
      ? { addresses: answer, after: undefined, ttl: undefined }
      : typeof answer === 'string'
        ? { addresses: [], after: undefined, ttl: undefined }
        : { after: undefined, ttl: undefined, ...answer };
    const rcode = typeof answer === 'string' ? RCODES[answer] : 0;
    const records = addresses
      .filter((address) => address.includes(':') === (type === 'AAAA'))
      .map((address) => recordOf(address, ttl ?? 60));
    const head = Buffer.from(query.subarray(0, end));
    head.writeUInt16BE(0x8180 | rcode, 2);
    [1, records.length, 0, 0].forEach((count, index) => head.writeUInt16BE(count, 4 + 2 * index));
    const response = Buffer.concat([head, ...records]);
    if (after === undefined) send(response);
    else {
      const timer = setTimeout(() => {
        this.late.delete(timer);
        send(response);
      }, after);
      this.late.add(timer);
    }
  }
}

/** Returns an answer without its records that is marked as truncated. */
function truncated(response: Buffer): Buffer {
  const end = response.indexOf(0, 12) + 5;
  const head = Buffer.from(response.subarray(0, end));
  head.writeUInt16BE(head.readUInt16BE(2) | TRUNCATED, 2);
  head.writeUInt16BE(0, 6);
  return head;
}

/** Returns a record for the name in the question. An IPv6 address has to be written in full, as eight groups. */
function recordOf(address: string, ttl: number): Buffer {
  const isIPv6 = address.includes(':');
  const data = isIPv6
    ? Buffer.concat(address.split(':').map((group) => Buffer.from(group.padStart(4, '0'), 'hex')))
    : Buffer.from(address.split('.').map(Number));
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(isIPv6 ? 28 : 1, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(ttl, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}
