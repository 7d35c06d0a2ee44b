import type { Integrations } from '../messages/message.types.js';

/**
 * Returns whether a message is meant for a destination. A message is meant for all destinations, unless `All: false`
 * limits it to those whose own key enables them. A destination's own key takes precedence over `All`, and its id over
 * its name. An options object counts as `true`.
 *
 * @param name case-sensitive
 * @param id case-sensitive; an id that differs from the name only in case is ignored
 */
export function isEnabledFor(integrations: Integrations, name: string, id = name): boolean {
  const byId = ownFlag(integrations, id);
  const own = byId !== undefined && isKey(id, name) ? byId : ownFlag(integrations, name);
  if (own !== undefined) return own !== false;
  return !(Object.hasOwn(integrations, 'All') && integrations.All === false);
}

/** Whether a rule that excludes some destinations, by name or id, excludes this one. */
export function isNamedIn(keys: readonly string[], name: string, id: string): boolean {
  return keys.includes(name) || (isKey(id, name) && keys.includes(id));
}

/** All keys that select a destination. They are used to find keys that select nothing. */
export class DestinationKeys {
  private readonly keys = new Set<string>();
  /** First key of each lower-case spelling, for fast look-ups: a message may have thousands of keys. */
  private readonly byLowerCase = new Map<string, string>();

  constructor(destinations: readonly { readonly name: string; readonly id: string }[]) {
    this.add('All');
    for (const { name, id } of destinations) {
      this.add(name);
      if (isKey(id, name)) this.add(id);
    }
  }

  has(key: string): boolean {
    return this.keys.has(key);
  }

  /** Returns the key that differs from this one only in case. */
  similarTo(key: string): string | undefined {
    return this.byLowerCase.get(key.toLowerCase());
  }

  private add(key: string): void {
    this.keys.add(key);
    const lowerCase = key.toLowerCase();
    if (!this.byLowerCase.has(lowerCase)) this.byLowerCase.set(lowerCase, key);
  }
}

/** Own keys only: every object inherits a `constructor`, and a destination may have that name. */
function ownFlag(integrations: Integrations, key: string): boolean | object | undefined {
  return Object.hasOwn(integrations, key) ? integrations[key] : undefined;
}

/**
 * Returns whether an id is a key. The id of a single destination is `webhooks` by default, which is its name in the
 * wrong case, and so is no key.
 */
function isKey(id: string, name: string): boolean {
  return id === name || (id.toLowerCase() !== name.toLowerCase() && id !== 'All');
}
