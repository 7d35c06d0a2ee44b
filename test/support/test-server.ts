/** A server that belongs to a test file, on a port of its own, and can be made to fail. */
export interface TestServer {
  start(): Promise<void>;
  /** Ends the server in good order. */
  stop(): Promise<void>;
  /** Ends the server at once, as a crash would. What it acknowledged is there after the next start. */
  kill(): Promise<void>;
  /** Freezes the server: connections stay open, and nothing is answered. */
  pause(): void;
  resume(): void;
  /** Ends the server for good, and removes its files. */
  dispose(): Promise<void>;
}
