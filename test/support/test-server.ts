/** A private server of a test file, on a port of its own, that can be made to fail. */
export interface TestServer {
  start(): Promise<void>;
  /** Ends it in good order. */
  stop(): Promise<void>;
  /** Ends it at once, as a crash would; what it acknowledged is there after the next start. */
  kill(): Promise<void>;
  /** Freezes it: connections stay open, nothing is answered. */
  pause(): void;
  resume(): void;
  /** Ends it for good and removes its files. */
  dispose(): Promise<void>;
}
