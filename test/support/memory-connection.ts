/** A queue that needs no server and no folder, for what does not depend on the backend. */
export const MEMORY = { embedded: { dataDir: 'memory://' } };
