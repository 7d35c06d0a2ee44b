import { type OptionRule, problemsOfCall, textOf } from '../../options/call-options.js';
import type { DecoratorDefinition } from './decorator-definition.js';
import type { DecoratorLog } from './decorator-log.js';
import type { DecoratorType, OptionName } from './decorator-options.types.js';

/** The client checks what is sent, and names are all that is looked at here. */
const ANY: OptionRule = { expected: 'anything', accepts: () => true };
const RECORDED: readonly unknown[] = ['success', 'failure', 'settled'];

const COMMON = {
  on: {
    expected: "'success', 'failure' or 'settled'",
    accepts: (value: unknown) => RECORDED.includes(value),
  },
  when: ANY,
  userId: ANY,
  context: ANY,
  timestamp: ANY,
  integrations: ANY,
  source: ANY,
  tenant: ANY,
};
const PERSON = { ...COMMON, anonymousId: ANY };
const VIEW = { ...PERSON, name: ANY, category: ANY, properties: ANY };

/** The options of each decorator. One that is in the types and missing here does not compile. */
const OPTIONS: { readonly [T in DecoratorType]: Readonly<Record<OptionName<T>, OptionRule>> } = {
  track: { ...PERSON, properties: ANY },
  identify: { ...PERSON, traits: ANY },
  page: VIEW,
  screen: VIEW,
  group: { ...PERSON, groupId: ANY, traits: ANY },
  alias: { ...COMMON, previousId: ANY },
};

/** Warns of options that a decorator does not have, which are not read: once for each decorated method. */
export class DecoratorOptionsCheck {
  private readonly looked = new WeakSet<DecoratorDefinition>();

  constructor(private readonly log: Pick<DecoratorLog, 'wrongOption'>) {}

  /** @param method where the decorator is */
  look(definition: DecoratorDefinition, method: string): void {
    if (this.looked.has(definition)) return;
    this.looked.add(definition);
    const { type, options } = definition;
    for (const problem of problemsOfCall(options, OPTIONS[type], 'options')) {
      // `@Track` has put the name of the event there.
      if (type === 'track' && problem.path === 'event') continue;
      this.log.wrongOption(definition, method, problem.path, textOf(problem, 'The decorator'));
    }
  }
}
