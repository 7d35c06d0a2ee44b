declare module 'fs-native-extensions' {
  /** Takes the exclusive lock of a file; `false` when another open file holds it. */
  export function tryLock(fd: number): boolean;
}
