import { join } from 'node:path';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '../..');
/** It exists in the compiler's eyes alone: on the disk, its declarations would reach every test. */
const PROGRAM = join(ROOT, 'test/compiled.program.ts');

/**
 * Compiles a program that imports `nestjs-analytics`, and returns what the compiler objects to.
 *
 * @param compilerOptions differences from this project's own, as in a `tsconfig.json`
 */
export function problemsOf(text: string, compilerOptions: object = {}): string[] {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    config: { compilerOptions: object };
  };
  const given = { ...config.compilerOptions, types: ['node'], noUnusedLocals: false, ...compilerOptions };
  const { options } = ts.convertCompilerOptionsFromJson(given, ROOT);
  const host = ts.createCompilerHost(options);
  host.fileExists = (path) => path === PROGRAM || ts.sys.fileExists(path);
  host.readFile = (path) => (path === PROGRAM ? text : ts.sys.readFile(path));
  host.getSourceFile = (path, target) => {
    const source = host.readFile(path);
    return source === undefined ? undefined : ts.createSourceFile(path, source, target);
  };
  const program = ts.createProgram([PROGRAM], options, host);
  return ts
    .getPreEmitDiagnostics(program, program.getSourceFile(PROGRAM))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
