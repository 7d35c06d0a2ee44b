import { join } from 'node:path';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '../..');
/** It exists in the compiler's eyes alone: on the disk, its declarations would reach every test. */
const PROGRAM = join(ROOT, 'test/compiled.program.ts');

/**
 * The declarations of the libraries, parsed once for each set of options: what the compiler finds out about a file
 * depends on them.
 */
const PARSED = new Map<string, Map<string, ts.SourceFile>>();

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
  const parsed = parsedWith(given);
  host.getSourceFile = (path, target) => {
    const known = parsed.get(path);
    if (known !== undefined) return known;
    const source = host.readFile(path);
    if (source === undefined) return undefined;
    const file = ts.createSourceFile(path, source, target);
    if (path !== PROGRAM) parsed.set(path, file);
    return file;
  };
  const program = ts.createProgram([PROGRAM], options, host);
  return ts
    .getPreEmitDiagnostics(program, program.getSourceFile(PROGRAM))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

function parsedWith(options: object): Map<string, ts.SourceFile> {
  const key = JSON.stringify(options);
  const parsed = PARSED.get(key) ?? new Map<string, ts.SourceFile>();
  PARSED.set(key, parsed);
  return parsed;
}
