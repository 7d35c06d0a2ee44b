import { PrismaPg } from '@prisma/adapter-pg';
import { getPrismaClient, type GetPrismaClientConfig } from '@prisma/client/runtime/client';

const COMPILER = '@prisma/client/runtime/query_compiler_fast_bg.postgresql';

type CompilerRuntime = Awaited<ReturnType<NonNullable<GetPrismaClientConfig['compilerWasm']>['getRuntime']>>;

/** TypeScript knows it with the types of browsers only. */
declare const WebAssembly: { Module: new (bytes: Uint8Array) => object };

/**
 * What `prisma generate` writes for a schema without models. The generator itself is left out, because it
 * downloads an engine; the client, its query compiler and its driver adapter are Prisma's own.
 */
const GeneratedClient = getPrismaClient({
  previewFeatures: [],
  clientVersion: '7.10.0',
  engineVersion: '0',
  activeProvider: 'postgresql',
  inlineSchema: 'datasource db {\n  provider = "postgresql"\n}\n',
  runtimeDataModel: { models: {}, enums: {}, types: {} },
  parameterizationSchema: { strings: [], graph: 'AAAA' },
  compilerWasm: {
    getRuntime: () => import(`${COMPILER}.mjs`) as Promise<CompilerRuntime>,
    getQueryCompilerWasmModule: async () => {
      const { wasm } = (await import(`${COMPILER}.wasm-base64.mjs`)) as { wasm: string };
      return new WebAssembly.Module(Buffer.from(wasm, 'base64'));
    },
    importName: './query_compiler_fast_bg.js',
  },
});

export type PrismaClient = InstanceType<ReturnType<typeof getPrismaClient>>;

/** A client of Prisma for a PostgreSQL database. */
export function prismaOf(connectionString: string): PrismaClient {
  return new GeneratedClient({ adapter: new PrismaPg({ connectionString }) });
}
