import { closestName } from '../shared/closest-name.js';
import type { MessageParams } from './message-params.types.js';
import type { MessageType } from './message.types.js';

/** Names come from the caller, so their number and length in the log are limited. */
const MAX_WARNINGS = 50;
const MAX_NAME_LENGTH = 50;

/** Number of calls that are all checked. After them, only one in 16 is, since a busy process should pay nothing. */
const ALL_CALLS = 1_000;
const ONE_IN = 16;

type FieldOf<T> = T extends unknown ? keyof T : never;
type Fields<T extends MessageType> = Record<
  FieldOf<MessageParams[T]> | (T extends 'delete' ? 'sources' : never),
  true
>;

const COMMON = { context: true, integrations: true, timestamp: true, messageId: true } as const;
const PERSON = { userId: true, anonymousId: true } as const;

/** The fields of each type of call. A field that is in the types and missing here does not compile. */
const FIELDS: { readonly [T in MessageType]: Fields<T> } = {
  identify: { ...PERSON, traits: true, ...COMMON },
  track: { ...PERSON, event: true, properties: true, ...COMMON },
  page: { ...PERSON, name: true, category: true, properties: true, traits: true, ...COMMON },
  screen: { ...PERSON, name: true, category: true, properties: true, ...COMMON },
  group: { ...PERSON, groupId: true, traits: true, ...COMMON },
  alias: { userId: true, previousId: true, ...COMMON },
  delete: { userId: true, sources: true, integrations: true, timestamp: true },
};

const NAMES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(FIELDS).map(([type, fields]) => [type, new Set(Object.keys(fields))]),
);

/** Warns of unknown fields, which are not sent: once per field and type of call. */
export class UnknownFields {
  private readonly warned = new Set<string>();
  private calls = 0;

  constructor(private readonly warn: (text: string) => void) {}

  /** Looks at the fields of a call that was checked already. */
  look(type: MessageType, params: object): void {
    this.calls++;
    if (this.calls > ALL_CALLS && this.calls % ONE_IN !== 0) return;
    const names = NAMES.get(type);
    for (const name in params) if (names?.has(name) === false) this.onUnknown(type, name, params);
  }

  private onUnknown(type: MessageType, name: string, params: object): void {
    const key = `${type} ${name.slice(0, MAX_NAME_LENGTH)}`;
    // Objects that are spread into a call often have keys without a value.
    if (Reflect.get(params, name) === undefined || this.warned.has(key)) return;
    if (this.warned.size >= MAX_WARNINGS) return;
    this.warned.add(key);
    const field = JSON.stringify(name.slice(0, MAX_NAME_LENGTH));
    this.warn(
      `\`${type}()\` was given the field ${field}, which is not one of its fields and is not sent. ${hintFor(type, name)}`,
    );
  }
}

function hintFor(type: MessageType, name: string): string {
  const names = [...(NAMES.get(type) ?? [])];
  const similar = closestName(name, names);
  if (similar !== undefined) return `Did you mean \`${similar}\`?`;
  const place = ['properties', 'traits', 'context'].find((part) => names.includes(part));
  if (place === undefined) return `Its fields are ${listOf(names)}.`;
  const owners = [...NAMES.keys()].filter((owner) => NAMES.get(owner)?.has(name) === true);
  const belongs = owners.length === 0 ? '' : `It belongs to ${listOf(owners.map((owner) => `${owner}()`))}. `;
  return `${belongs}Put it into \`${place}\`, or leave it out.`;
}

function listOf(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}
