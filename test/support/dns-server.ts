import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';

/** What a server does with a question: addresses to answer, an error, nothing at all, or addresses after a while. */
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

/** A real DNS server on the loopback interface. It answers a question for A or AAAA as it is told to. */
export class DnsServer {
  readonly questions: DnsQuestion[] = [];

  private constructor(
    private readonly socket: Socket,
    private readonly answer: (question: DnsQuestion) => DnsAnswer,
  ) {
    socket.on('message', (query, from) => {
      this.receive(query, from);
    });
  }

  static async start(answer: (question: DnsQuestion) => DnsAnswer): Promise<DnsServer> {
    const socket = createSocket('udp4');
    const server = new DnsServer(socket, answer);
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return server;
  }

  /** As a resolver takes it. */
  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  /** How often a name was asked for, by either type. */
  asked(name: string): number {
    return this.questions.filter((question) => question.name === name).length;
  }

  async close(): Promise<void> {
    this.socket.close();
    await once(this.socket, 'close');
  }

  private receive(query: Buffer, from: RemoteInfo): void {
    const labels: string[] = [];
    let at = 12;
    for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const type = TYPES[query.readUInt16BE(at + 1)];
    if (type === undefined) return;
    const question = { name: labels.join('.').toLowerCase(), type };
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
    const head = Buffer.from(query.subarray(0, at + 5));
    head.writeUInt16BE(0x8180 | rcode, 2);
    [1, records.length, 0, 0].forEach((count, index) => head.writeUInt16BE(count, 4 + 2 * index));
    const send = (): void => {
      this.socket.send(Buffer.concat([head, ...records]), from.port, from.address);
    };
    if (after === undefined) send();
    else setTimeout(send, after);
  }
}

/** A record for the name of the question. IPv6 addresses are written in full, as eight groups. */
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
