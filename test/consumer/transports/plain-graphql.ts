import { AbstractGraphQLDriver, type GqlModuleOptions } from '@nestjs/graphql';
import { graphql, type GraphQLSchema } from 'graphql';

/** GraphQL over HTTP with nothing but graphql-js, on either platform. */
export class PlainDriver extends AbstractGraphQLDriver {
  async start({ schema }: GqlModuleOptions): Promise<void> {
    const server = this.httpAdapterHost.httpAdapter;
    server.post('/graphql', async (request: { body: { query: string } }, response: unknown) => {
      const source = request.body.query;
      const answer = await graphql({ schema: schema as GraphQLSchema, source, contextValue: {} });
      server.reply(response, answer, 200);
    });
  }
  async stop(): Promise<void> {}
}
