import { join } from 'node:path';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '../..');
/** Exists only for the compiler: on the disk, its declarations would reach every test. */
const PROGRAM = join(ROOT, 'test/compiled.program.ts');

/** The package as built for its users. With its sources, every program would check those as well. */
const PATHS = {
  'nestjs-analytics': ['./dist/esm/index.d.ts'],
  'nestjs-analytics/testing': ['./dist/esm/testing/index.d.ts'],
};

/** What programs with the same options share. What the compiler finds out about a file depends on the options. */
interface Known {
  /** The declarations of the libraries, parsed once. */
  files: Map<string, ts.SourceFile>;
  /** The program from which the next one takes the resolved imports. */
  latest?: ts.Program;
}

const KNOWN = new Map<string, Known>();

/**
 * Compiles a program that imports `nestjs-analytics`, and returns the compiler's errors.
 *
 * @param compilerOptions differences from this project's own options, as in a `tsconfig.json`
 */
export function problemsOf(text: string, compilerOptions: object = {}): string[] {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    config: { compilerOptions: object };
  };
  const given = {
    ...config.compilerOptions,
    types: ['node'],
    noUnusedLocals: false,
    paths: PATHS,
    ...compilerOptions,
  };
  const { options } = ts.convertCompilerOptionsFromJson(given, ROOT);
  const host = ts.createCompilerHost(options);
  host.fileExists = (path) => path === PROGRAM || ts.sys.fileExists(path);
  host.readFile = (path) => (path === PROGRAM ? text : ts.sys.readFile(path));
  const known = knownWith(given);
  host.getSourceFile = (path, target) => {
    const parsed = known.files.get(path);
    if (parsed !== undefined) return parsed;
    const source = host.readFile(path);
    if (source === undefined) return undefined;
    const file = ts.createSourceFile(path, source, target);
    if (path !== PROGRAM) known.files.set(path, file);
    return file;
  };
  const program = ts.createProgram([PROGRAM], options, host, known.latest);
  known.latest = program;
  return ts
    .getPreEmitDiagnostics(program, program.getSourceFile(PROGRAM))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

function knownWith(options: object): Known {
  const key = JSON.stringify(options);
  const known = KNOWN.get(key) ?? { files: new Map<string, ts.SourceFile>() };
  KNOWN.set(key, known);
  return known;
}
