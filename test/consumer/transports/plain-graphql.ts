import { AbstractGraphQLDriver, type GqlModuleOptions } from '@nestjs/graphql';
import { graphql, type GraphQLSchema } from 'graphql';

/** GraphQL over HTTP with nothing but graphql-js, on either platform. */
export class PlainDriver extends AbstractGraphQLDriver {
  async start({ schema }: GqlModuleOptions): Promise<void> {
    const server = this.httpAdapterHost.httpAdapter;
    server.post('/graphql', async (req: { body: { query: string } }, res: unknown) => {
      const source = req.body.query;
      const answer = await graphql({ schema: schema as GraphQLSchema, source, contextValue: { req, res } });
      server.reply(res, answer, 200);
    });
  }
  async stop(): Promise<void> {}
}
