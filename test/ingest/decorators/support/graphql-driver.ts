import { AbstractGraphQLDriver, type GqlModuleOptions } from '@nestjs/graphql';
import { graphql } from 'graphql';

interface GraphQLRequest {
  body: { query: string };
}

interface GraphQLResponse {
  send(body: string): unknown;
}

/** Serves Nest's resolvers with GraphQL's reference implementation, on the application's HTTP server. */
export class PlainGraphQLDriver extends AbstractGraphQLDriver {
  start({ schema, path = '/graphql' }: GqlModuleOptions): Promise<void> {
    if (schema === undefined) throw new Error('Nest has generated no schema');
    this.httpAdapterHost.httpAdapter.post(path, async (req: GraphQLRequest, res: GraphQLResponse) => {
      const result = await graphql({ schema, source: req.body.query, contextValue: { req } });
      res.send(JSON.stringify(result));
    });
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}
