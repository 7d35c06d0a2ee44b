import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

type Json = Record<string, unknown>;

interface Operation {
  operationId: string;
  requestBody?: { required?: boolean };
  responses: Record<string, { content?: { 'application/json': { schema: Json } } }>;
}

/** The parts of an OpenAPI document that the check uses. */
export interface OpenApi {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json> };
}

/**
 * Checks answers against an OpenAPI document. It is stricter than the document: what the document does not name is
 * wrong, so that nothing can be added to an answer without being described.
 */
export class OpenApiCheck {
  private readonly ajv = new Ajv2020({ strict: true, allErrors: true });
  private readonly validators = new Map<string, ValidateFunction>();
  private readonly document: OpenApi;

  constructor(document: OpenApi) {
    const schemas = JSON.stringify(document).replaceAll('"#/components', '"api#/components');
    this.document = closed(JSON.parse(schemas)) as OpenApi;
    this.ajv.addVocabulary(['components']);
    this.ajv.addSchema({ $id: 'api', components: this.document.components });
  }

  /** Returns what is wrong with an answer, or an empty array if it is as the document says. */
  problems(method: string, path: string, status: number, body: unknown): string[] {
    const place = `${method} ${path} ${status}`;
    const response = this.operation(method, path)?.responses[status];
    if (response === undefined) return [`${place} is not in the document`];
    const schema = response.content?.['application/json'].schema;
    if (schema === undefined) return body === '' ? [] : [`${place} should have no body`];
    const validate = this.validators.get(place) ?? this.ajv.compile(schema);
    this.validators.set(place, validate);
    if (validate(body)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${place}: ${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  }

  /** Returns whether a request may be sent without a body, and so without a `content-type`. */
  takesNoBody(method: string, path: string): boolean {
    return this.operation(method, path)?.requestBody?.required !== true;
  }

  private operation(method: string, path: string): Operation | undefined {
    const found = Object.entries(this.document.paths).filter(([template]) =>
      new RegExp(`^${template.replace('{id}', '[^/]+')}$`).test(path),
    );
    // A path without parameters comes before a path with parameters.
    const [[, operations] = []] = found.sort(([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')));
    return operations?.[method.toLowerCase()];
  }
}

/** Returns the same schemas, but with objects that may have only the named properties. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, one]) => [name, closed(one)] as const);
  const isClosed = 'properties' in value && 'type' in value;
  return Object.fromEntries([...entries, ...(isClosed ? [['additionalProperties', false] as const] : [])]);
}
