import type { AudienceStore } from '../../src/options/audience-store.js';

/** Returns the store as a plain object, so that a test can spread it and replace single methods. */
export function bound(store: AudienceStore): AudienceStore {
  return {
    register: (definition) => store.register(definition),
    find: (trait) => store.find(trait),
    list: () => store.list(),
    lock: (...args) => store.lock(...args),
    renew: (...args) => store.renew(...args),
    unlock: (...args) => store.unlock(...args),
    advance: (hold) => store.advance(hold),
    offer: (...args) => store.offer(...args),
    withdraw: (...args) => store.withdraw(...args),
    withdrawUnseen: (...args) => store.withdrawUnseen(...args),
    settle: (...args) => store.settle(...args),
    members: (...args) => store.members(...args),
    drop: (hold) => store.drop(hold),
  };
}
