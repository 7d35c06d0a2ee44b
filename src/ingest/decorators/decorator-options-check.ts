import { type OptionRule, problemsOfCall, textOf } from '../../options/call-options.js';
import type { DecoratorDefinition } from './decorator-definition.js';
import type { DecoratorLog } from './decorator-log.js';
import type { DecoratorType, OptionName } from './decorator-options.types.js';

/** Rule for options of which only the name is checked here. The client checks what is sent. */
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

/** The options of each decorator. An option that the types have and this list lacks is a compile error. */
const OPTIONS: { readonly [T in DecoratorType]: Readonly<Record<OptionName<T>, OptionRule>> } = {
  track: { ...PERSON, properties: ANY },
  identify: { ...PERSON, traits: ANY },
  page: VIEW,
  screen: VIEW,
  group: { ...PERSON, groupId: ANY, traits: ANY },
  alias: { ...COMMON, previousId: ANY },
};

/** Warns, once for each decorator on a method, of options that the decorator does not have and of a wrong `on`. */
export class DecoratorOptionsCheck {
  private readonly looked = new WeakSet<DecoratorDefinition>();

  constructor(private readonly log: Pick<DecoratorLog, 'wrongOption'>) {}

  /** @param method name of the method that the decorator is on */
  look(definition: DecoratorDefinition, method: string): void {
    if (this.looked.has(definition)) return;
    this.looked.add(definition);
    const { type, options } = definition;
    for (const problem of problemsOfCall(options, OPTIONS[type], 'options')) {
      // `@Track` itself puts the name of the event there.
      if (type === 'track' && problem.path === 'event') continue;
      this.log.wrongOption(definition, method, problem.path, textOf(problem, 'The decorator'));
    }
  }
}
