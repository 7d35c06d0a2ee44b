declare module 'fs-native-extensions' {
  /** Takes the exclusive lock on a file; `false` if another open file holds it. */
  export function tryLock(fd: number): boolean;
}
