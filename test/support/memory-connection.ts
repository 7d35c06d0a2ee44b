/** A queue that needs neither a server nor a folder, for tests that do not depend on the backend. */
export const MEMORY = { embedded: { dataDir: 'memory://' } };
