import { AnalyticsError } from './analytics.error.js';

/** `within()` was called without the option `outbox`, or OutboxService was used without an open outbox. */
export class OutboxNotConfiguredError extends AnalyticsError {
  readonly code = 'OUTBOX_NOT_CONFIGURED';

  /** @param isConfigured whether there is an outbox that this process does not open */
  constructor(isConfigured = false) {
    super(
      isConfigured
        ? 'This process has not opened the outbox, since with `enabled: false` or without a destination it has no ' +
            'queue to move its rows to. Ask a process that delivers.'
        : 'This application has no outbox. Give AnalyticsModule the option `outbox: { connection }`, with the URL ' +
            "of the application's PostgreSQL database.",
    );
  }
}

/** `within()` was given something that cannot run a statement. */
export class InvalidExecutorError extends AnalyticsError {
  readonly code = 'INVALID_EXECUTOR';

  /** @param adapter the function that was used, if any */
  constructor(adapter?: string) {
    super(
      adapter === undefined
        ? '`within` expects an object with `query(text, values)`, such as a client of `pg` in a transaction. ' +
            'Wrap the transaction of another library: fromTypeOrm, fromPrisma, fromDrizzle, fromKysely, ' +
            'fromKnex or fromMikroOrm.'
        : `\`${adapter}\` was given something other than a transaction of that library.`,
    );
  }
}

const WHAT_TO_CREATE =
  'Run the SQL that `npx nestjs-analytics outbox-sql` prints, as a user who may create it, or set ' +
  '`outbox.migrate` to true.';

/** The table of the outbox is missing, of another version, or not open to this user. */
export class OutboxTableError extends AnalyticsError {
  readonly code = 'OUTBOX_TABLE';

  /**
   * @param fault what is wrong with it, as the end of a sentence
   * @param whatToDo what to do about it, in sentences
   */
  constructor(
    /** The table with its schema. */
    readonly table: string,
    fault: string,
    { whatToDo = WHAT_TO_CREATE, ...options }: ErrorOptions & { whatToDo?: string } = {},
  ) {
    super(`The table ${table} of the outbox ${fault}. ${whatToDo}`, options);
  }
}

const WHICH_TO_USE =
  'An outbox needs PostgreSQL. With another database, call `track` after the transaction is committed.';

/** The database of the outbox is not a PostgreSQL database that can be used. */
export class UnsupportedOutboxDatabaseError extends AnalyticsError {
  readonly code = 'UNSUPPORTED_OUTBOX_DATABASE';

  /**
   * @param fault what is wrong with it, as the end of a sentence
   * @param whatToDo what to do about it, in sentences
   */
  constructor(
    fault: string,
    { whatToDo = WHICH_TO_USE, ...options }: ErrorOptions & { whatToDo?: string } = {},
  ) {
    super(`The outbox cannot be kept in this database: ${fault}. ${whatToDo}`, options);
  }
}
