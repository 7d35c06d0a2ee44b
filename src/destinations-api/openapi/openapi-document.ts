import { LIBRARY } from '../../messages/library.js';
import { type ApiRoute, hasBody, mayGoOn, ROUTES } from '../api-routes.js';
import { OPERATION_DOCS, type OperationDoc } from './operation-docs.js';
import { ref, type Schema, SCHEMAS, text } from './schemas.js';

/** Meaning of each error status in this API. */
const ERRORS: Readonly<Record<number, string>> = {
  400: 'The body is not a JSON object.',
  401: 'The application does not know who sent the request.',
  403: 'A page of another origin sent the request.',
  404: 'There is no such destination for the sender.',
  408: 'The body did not arrive in time.',
  409: 'Somebody else changed the destination, it is configured in code, it is not a webhook, or the tenant has reached its limit.',
  413: 'The body is too large.',
  415: 'The header `content-type: application/json` is missing.',
  422: 'Fields are wrong; `problems` lists them.',
  429: 'The sender sends too many requests, or too many of this kind are in progress.',
  500: 'An error in the application.',
  501: 'The application has turned this off: its store can only be read, or it keeps no history.',
  503: 'The database cannot be reached, or a key is missing. Send the request again later.',
};
const ALWAYS = [401, 429, 500, 503];
const WITH_BODY = [400, 408, 413, 415];

/** Returns the OpenAPI document of the API. @param path path of the API */
export function openApiDocument(path: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of ROUTES) {
    const operations = (paths[path + route.path] ??= {});
    operations[route.method.toLowerCase()] = operation(route, OPERATION_DOCS[route.operation]);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Destinations',
      version: LIBRARY.version,
      description:
        'The webhooks of the sender, whom the application identifies by a cookie or header of the request.',
    },
    paths,
    components: { schemas: SCHEMAS },
  };
}

function operation(route: ApiRoute, doc: OperationDoc): object {
  const { summary, query = {}, body, status, answer, errors = [] } = doc;
  const withBody = hasBody(route);
  const hasId = route.path.startsWith('/{id}');
  const statuses = [
    ...ALWAYS,
    ...(withBody ? WITH_BODY : []),
    ...(hasId ? [404] : []),
    ...(route.method === 'GET' ? [] : [403]),
    ...errors,
  ];
  return {
    operationId: route.operation,
    summary,
    parameters: [
      ...(hasId ? [{ name: 'id', in: 'path', required: true, schema: text() }] : []),
      ...Object.entries(query).map(([name, schema]) => ({ name, in: 'query', schema })),
    ],
    // Always declared: without a body, generated clients would not send the content type that keeps other origins out.
    ...(withBody && {
      requestBody: { required: true, ...content(body ?? { type: 'object', properties: {} }) },
    }),
    responses: {
      [status]: { description: 'Done.', ...(answer !== undefined && content(answer)) },
      ...(mayGoOn(route) && {
        202: {
          description: 'The work takes a while, and continues after this answer.',
          ...content('Running'),
        },
      }),
      ...Object.fromEntries(
        [...new Set(statuses)].map((one) => [one, { description: ERRORS[one], ...content('Error') }]),
      ),
    },
  };
}

function content(schema: string | Schema): object {
  return { content: { 'application/json': { schema: typeof schema === 'string' ? ref(schema) : schema } } };
}
