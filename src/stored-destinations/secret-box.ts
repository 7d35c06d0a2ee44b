import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { DestinationKeyError } from '../errors/destination.errors.js';
import type { DestinationRecord, DestinationSecrets } from '../options/destination-store.js';

const ALGORITHM = 'aes-256-gcm';
/** Version of the format of a sealed text. */
const VERSION = 'v1';
/** In bytes, as NIST SP 800-38D recommends. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The fields of a record that hold secrets. */
const SECRET_FIELDS = [
  'headers',
  'sharedSecret',
  'standardWebhooks',
  'retiring',
] as const satisfies (keyof DestinationSecrets)[];

/**
 * Encrypts the secrets of destinations at rest: AES-256-GCM, with a new nonce each time. The text is bound to
 * the id of its destination, so that it opens in no other record.
 */
export class SecretBox {
  private readonly keys: ReadonlyMap<string, Buffer>;

  /** @param keys the first key encrypts, all keys decrypt; without keys, secrets are stored as they are */
  constructor(keys: readonly Buffer[]) {
    this.keys = new Map(keys.map((key) => [nameOf(key), key]));
  }

  /** Returns a record for the store, with its secrets encrypted if there is a key. */
  seal<T extends DestinationRecord>(record: T): T & { sealed?: string } {
    const [first] = this.keys;
    const secrets = secretsOf(record);
    if (first === undefined || Object.keys(secrets).length === 0) return record;
    const [name, key] = first;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(record.id));
    const text = Buffer.concat([cipher.update(JSON.stringify(secrets)), cipher.final()]);
    const sealed = Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url');
    const open = Object.fromEntries(
      Object.entries(record).filter(([field]) => !SECRET_FIELDS.some((secret) => secret === field)),
    );
    return { ...open, sealed: `${VERSION}.${name}.${sealed}` } as T;
  }

  /** Returns the secrets of a record. @throws DestinationKeyError if no key decrypts them */
  open(record: DestinationRecord): DestinationSecrets {
    const { id, sealed } = record;
    if (sealed === undefined) return secretsOf(record);
    const [version, name = '', encoded = ''] = sealed.split('.');
    const key = this.keys.get(name);
    if (version !== VERSION || key === undefined) throw new DestinationKeyError(id);
    const bytes = Buffer.from(encoded, 'base64url');
    try {
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES))
        .setAAD(Buffer.from(id))
        .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      const text = Buffer.concat([
        decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)),
        decipher.final(),
      ]);
      // Only this class writes this text, and the tag proves that nobody has changed it.
      return JSON.parse(text.toString()) as DestinationSecrets;
    } catch (cause) {
      throw new DestinationKeyError(id, { cause });
    }
  }
}

/** Returns a name that tells a key from others, and reveals nothing about it. */
function nameOf(key: Buffer): string {
  return createHash('sha256').update('nestjs-analytics').update(key).digest('hex').slice(0, 8);
}

function secretsOf(record: DestinationRecord): DestinationSecrets {
  return Object.fromEntries(
    SECRET_FIELDS.filter((field) => record[field] !== undefined).map((field) => [field, record[field]]),
  );
}
