import type { Observable } from 'rxjs';
import type { EventChannel } from '../deliveries/event-channel.js';
import { DestinationConfiguredError, DestinationsDisabledError } from '../errors/destination.errors.js';
import type { DestinationRecord, StoredDestination } from '../options/destination-store.js';
import type { DestinationRules } from '../options/resolve-destination.js';
import type { WhileOpen } from '../shared/application-end.js';
import type { TestResult } from '../webhooks/endpoint.js';
import type { ChangeNotices } from './change-notices.js';
import type { ConfiguredDestinations } from './configured-destinations.js';
import { detailsOf } from './destination-details.js';
import { askerOf, changedTenant, checkedFields, checkedQuery, checkedUpdate } from './destination-input.js';
import { type DestinationRecords, newId } from './destination-records.js';
import type {
  CreatedDestination,
  DestinationDetails,
  DestinationDisableOptions,
  DestinationEvent,
  DestinationPage,
  DestinationQuery,
  DestinationScope,
  DestinationUpdate,
  DestinationUpdateOptions,
  NewDestination,
  SecretRotationOptions,
} from './destinations.types.js';
import type { HistoryRemoval } from './history-removal.js';
import type { KeptMessages } from './kept-messages.js';
import { newSecret, rotated } from './rotated-secrets.js';

/** How long a replaced secret signs as well, in milliseconds: a day. */
const DEFAULT_OVERLAP = 86_400_000;

export interface DestinationsParts {
  records: DestinationRecords;
  notices: Pick<ChangeNotices, 'tell'>;
  configured: ConfiguredDestinations;
  rules: DestinationRules & { limitPerTenant: number };
  /** Sends a test event to each URL. */
  sendTest: (id: string) => Promise<TestResult[]>;
  kept: Pick<KeptMessages, 'deliver' | 'deliverLate'>;
  histories: Pick<HistoryRemoval, 'remove'>;
}

/**
 * The destinations at run time: your customers' webhooks. A change is in force in this process when its
 * promise resolves, and in all others within two seconds.
 *
 * Methods that take an id also take the `tenant` that asks: a destination of another tenant is not found. A `tenant` of
 * `undefined` is refused with `InvalidDestinationError`, as is an option with an unknown name or a wrong value. Every
 * method rejects with `DestinationsDisabledError` without the option `destinations`, and with `AnalyticsClosedError`
 * once the application has shut down. Methods that write reject with `DestinationsReadOnlyError` if the application's
 * own store is read-only, and with `DestinationConfiguredError` for a destination that is configured in code. If the
 * own store does not answer in time, methods reject with `DestinationStoreTimeoutError` if they were only reading, and
 * with `DestinationWriteTimeoutError` if the change may have been made, or may be made later.
 */
export class DestinationsService {
  /** The changes that this process has made. An error that a subscriber throws is logged and harms nobody else. */
  readonly changes$: Observable<DestinationEvent>;

  /** @param given `undefined` in an application without the option `destinations` */
  constructor(
    private readonly given: WhileOpen<DestinationsParts | undefined>,
    private readonly events: EventChannel<DestinationEvent>,
  ) {
    this.changes$ = events.events$;
  }

  /**
   * Adds a destination. Without `sharedSecret` and `standardWebhooks` a secret is generated, which only the result of
   * this call contains.
   *
   * @throws InvalidDestinationError, DestinationLimitError
   */
  async create(fields: NewDestination): Promise<CreatedDestination> {
    const { records, rules } = this.parts;
    const given = checkedFields(fields, rules);
    const isUnsigned = given.sharedSecret === undefined && given.standardWebhooks === undefined;
    const secret = isUnsigned ? newSecret() : undefined;
    const now = Date.now();
    const record: StoredDestination = {
      ...given,
      id: newId(now),
      ...(secret !== undefined && { standardWebhooks: { secret } }),
      createdAt: now,
      updatedAt: now,
      version: 1,
    };
    await records.add(record, record.tenant === undefined ? Infinity : rules.limitPerTenant);
    this.emit('created', record);
    return { ...detailsOf(record, record), secret };
  }

  /** @throws DestinationNotFoundError */
  async get(id: string, scope: DestinationScope = {}): Promise<DestinationDetails> {
    const { records } = this.parts;
    const tenant = askerOf(scope);
    return this.findConfigured(id, tenant) ?? records.detailsOf(await records.find(id, tenant));
  }

  /**
   * Returns the destinations that are configured in code (`webhooks` and `customDestinations`), for a page that shows
   * all destinations. `get` finds them too, unless a tenant asks.
   */
  configured(): DestinationDetails[] {
    return this.parts.configured.all;
  }

  /** Resolves to a page of all destinations or those of a tenant. With `enabled: false`, only of disabled ones. */
  async list(query: DestinationQuery = {}): Promise<DestinationPage> {
    const checked = checkedQuery(query);
    const { enabled, limit } = checked;
    const found = await this.parts.records.list(checked);
    const wanted = enabled === undefined ? found : found.filter((record) => record.enabled === enabled);
    return {
      destinations: wanted.map((record) => this.parts.records.detailsOf(record)),
      cursor: found.length < limit ? undefined : found.at(-1)?.id,
    };
  }

  /**
   * Changes some fields. Messages that wait for the destination are delivered with the new fields. The tenant never
   * changes; `enable` and `disable` are calls of their own.
   *
   * @throws InvalidDestinationError, DestinationNotFoundError, DestinationChangedError
   */
  async update(
    id: string,
    update: DestinationUpdate,
    options: DestinationUpdateOptions = {},
  ): Promise<DestinationDetails> {
    const { rules } = this.parts;
    const { records, tenant } = this.changeable(id, options, 'update');
    const changed = await records.change(id, { tenant, version: options.version }, (record) => {
      const { fields, secrets } = checkedUpdate(update, record, records.secretsOf(record), rules);
      return { ...fields, ...(secrets !== undefined && records.sealed(record, secrets)) };
    });
    this.emit('updated', changed);
    return this.parts.records.detailsOf(changed);
  }

  /**
   * Deletes a destination and its history. Messages that wait for it are dropped.
   *
   * @throws DestinationNotFoundError
   */
  async delete(id: string, scope: DestinationScope = {}): Promise<void> {
    const { records, tenant } = this.changeable(id, scope);
    this.emit('deleted', await records.remove(id, tenant));
    await this.parts.histories.remove(id);
  }

  /**
   * Enables a destination, and delivers the messages that were kept while it was disabled.
   *
   * @throws DestinationNotFoundError
   */
  async enable(id: string, scope: DestinationScope = {}): Promise<DestinationDetails> {
    const { records, tenant } = this.changeable(id, scope);
    const changes = { enabled: true, disabledReason: undefined, failingSince: undefined };
    const changed = await records.change(id, { tenant }, () => changes);
    this.emit('enabled', changed);
    await this.parts.kept.deliver(id, changed.tenant);
    return records.detailsOf(changed);
  }

  /**
   * Disables a destination: no new messages are queued for it, and waiting messages are kept for `failedRetention`.
   *
   * @throws DestinationNotFoundError
   */
  async disable(id: string, options: DestinationDisableOptions = {}): Promise<DestinationDetails> {
    const { records, tenant } = this.changeable(id, options, 'disable');
    const changes = { enabled: false, disabledReason: options.reason };
    const changed = await records.change(id, { tenant }, () => changes);
    this.emit('disabled', changed);
    return records.detailsOf(changed);
  }

  /**
   * Generates a new Standard Webhooks secret, and returns it. During the overlap both secrets sign, so that the
   * receiver can change over.
   *
   * @throws InvalidDestinationError if the destination has no such secret, or too many that still sign;
   *   DestinationNotFoundError
   */
  async rotateSecret(id: string, options: SecretRotationOptions = {}): Promise<{ secret: string }> {
    const { records, tenant } = this.changeable(id, options, 'rotateSecret');
    const { overlap = DEFAULT_OVERLAP } = options;
    const secret = newSecret();
    const changed = await records.change(id, { tenant }, (record) =>
      records.sealed(record, rotated(records.secretsOf(record), secret, overlap, Date.now())),
    );
    this.emit('secret rotated', changed);
    return { secret };
  }

  /**
   * Sends one signed test event to each URL at once, outside the queue, even if the destination is disabled. Returns
   * the answer of each URL.
   *
   * @throws DestinationNotFoundError, NotAWebhookError, InvalidDestinationError, DestinationKeyError
   */
  async sendTest(id: string, scope: DestinationScope = {}): Promise<TestResult[]> {
    const { records, sendTest } = this.parts;
    const tenant = askerOf(scope);
    if (this.findConfigured(id, tenant) === undefined) await records.find(id, tenant);
    return sendTest(id);
  }

  /**
   * Announces that the application has changed destinations in its own store: those of the given tenant, or, if none is
   * given, any destinations with and without a tenant. The change is in force here at once, and in all other processes
   * within two seconds. While the queue's database is away, the notice is kept, and published when the database is
   * back; until then no process uses the destinations that it remembers. Messages that were kept for enabled
   * destinations are delivered a few seconds later, and tenants take turns. All failed jobs are read to find these
   * messages, which takes a quarter of the time at most, however often this is called.
   */
  async changed(tenant?: string): Promise<void> {
    const { notices, kept } = this.parts;
    const change = { tenant: changedTenant(tenant) };
    kept.deliverLate(change);
    await notices.tell(change);
  }

  private get parts(): DestinationsParts {
    const parts = this.given();
    if (parts === undefined) throw new DestinationsDisabledError();
    return parts;
  }

  /** Finds a destination that is configured in code. No tenant may learn of these destinations. */
  private findConfigured(id: string, tenant: string | undefined): DestinationDetails | undefined {
    return tenant === undefined ? this.parts.configured.find(id) : undefined;
  }

  /** @throws InvalidDestinationError, DestinationConfiguredError */
  private changeable(
    id: string,
    options: DestinationScope,
    call?: 'update' | 'disable' | 'rotateSecret',
  ): { records: DestinationRecords; tenant: string | undefined } {
    const tenant = askerOf(options, call);
    if (this.findConfigured(id, tenant) !== undefined) throw new DestinationConfiguredError(id);
    return { records: this.parts.records, tenant };
  }

  private emit(type: DestinationEvent['type'], { id, tenant }: DestinationRecord): void {
    this.events.emit({ type, id, tenant });
  }
}
