import type { CustomTypesConfig } from 'pg';
import type pg from 'pg';

/** Reads a value from its text. */
type Parser = (text: string) => unknown;

/**
 * Returns parsers that read the results of BullMQ's and this module's statements as `pg` does by default. With
 * `types.setTypeParser`, an application may change that for all connections of its process, for example to read JSON as
 * text. The data of a job would then not be an object, and the job would fail. Arrays have no parser here: statements
 * return them as JSON.
 */
export function ownTypes({ builtins, getTypeParser }: typeof pg.types): CustomTypesConfig {
  const { BOOL, INT2, INT4, INT8, FLOAT4, FLOAT8, TEXT, VARCHAR, JSONB } = builtins;
  const parsers = new Map<number, Parser>([
    [BOOL, (text) => text === 't'],
    ...[INT2, INT4, FLOAT4, FLOAT8].map((type): [number, Parser] => [type, Number]),
    ...[INT8, TEXT, VARCHAR].map((type): [number, Parser] => [type, String]),
    ...[builtins.JSON, JSONB].map((type): [number, Parser] => [type, (text): unknown => JSON.parse(text)]),
  ]);
  return { getTypeParser: (type, format): unknown => parsers.get(type) ?? getTypeParser(type, format) };
}
