import { readFileSync } from 'node:fs';
import { PrismaPg } from '@prisma/adapter-pg';
import { getPrismaClient, type GetPrismaClientConfig } from '@prisma/client/runtime/client';

const COMPILER = '@prisma/client/runtime/query_compiler_fast_bg.postgresql';

type CompilerRuntime = Awaited<ReturnType<NonNullable<GetPrismaClientConfig['compilerWasm']>['getRuntime']>>;

/** TypeScript has this type only among the types of browsers. */
declare const WebAssembly: { Module: new (bytes: Uint8Array) => object };

type Generated = Pick<
  GetPrismaClientConfig,
  'clientVersion' | 'inlineSchema' | 'runtimeDataModel' | 'parameterizationSchema'
>;

/**
 * What `prisma generate` has written for the schema in the file. The result is kept, since the generator brings 230 MB,
 * and downloads an engine unless `PRISMA_SCHEMA_ENGINE_BINARY` names a file. The client, its query compiler and its
 * driver adapter are Prisma's own.
 */
const generated = JSON.parse(
  readFileSync(new URL('./prisma-order.json', import.meta.url), 'utf8'),
) as Generated;

const GeneratedClient = getPrismaClient({
  ...generated,
  previewFeatures: [],
  engineVersion: '0',
  activeProvider: 'postgresql',
  compilerWasm: {
    getRuntime: () => import(`${COMPILER}.mjs`) as Promise<CompilerRuntime>,
    getQueryCompilerWasmModule: async () => {
      const { wasm } = (await import(`${COMPILER}.wasm-base64.mjs`)) as { wasm: string };
      return new WebAssembly.Module(Buffer.from(wasm, 'base64'));
    },
    importName: './query_compiler_fast_bg.js',
  },
});

/** A client with the model of the schema: `model Order { id String @id }`. */
export type PrismaClient = InstanceType<ReturnType<typeof getPrismaClient>> & {
  order: { create(args: { data: { id: string } }): PromiseLike<{ id: string }> };
};

/** A client of Prisma for a PostgreSQL database. */
export function prismaOf(connectionString: string): PrismaClient {
  return new GeneratedClient({ adapter: new PrismaPg({ connectionString }) }) as PrismaClient;
}
