import { UseInterceptors } from '@nestjs/common';
import { Args, GqlExecutionContext, GraphQLModule, Query, Resolver } from '@nestjs/graphql';
import { FairLocked, FairLockInterceptor, FairLockService } from 'nestjs-fair-lock';
import { PlainDriver } from '../consumer/transports/plain-graphql.js';
import { ask, leavingClient, PLATFORMS, waiting, webApp, type WebApp } from './web-app.js';

@Resolver()
class OrdersResolver {
  constructor(private readonly locks: FairLockService) {}

  @FairLocked('order:<0>')
  @Query(() => String)
  async above(@Args('id') id: string): Promise<string> {
    return `${id} ${this.locks.current()?.key}`;
  }

  @Query(() => String)
  @FairLocked('order:<0>')
  async below(@Args('id') id: string): Promise<string> {
    return `${id} ${this.locks.current()?.key}`;
  }

  @Query(() => String)
  @UseInterceptors(
    FairLockInterceptor.for(
      (context) => `order:${GqlExecutionContext.create(context).getArgs<{ id: string }>().id}`,
    ),
  )
  async intercepted(@Args('id') id: string): Promise<string> {
    return `${id} ${this.locks.current()?.key}`;
  }

  @Query(() => String)
  async twoDown(@Args('id') id: string): Promise<string> {
    await new Promise((resolve) => setImmediate(resolve));
    return this.locks.withLock(`order:${id}`, () => id);
  }
}

const APP = {
  imports: [GraphQLModule.forRoot({ driver: PlainDriver, autoSchemaFile: true })],
  providers: [OrdersResolver],
};

describe.each(PLATFORMS)('a GraphQL resolver on %s', (platform) => {
  let web: WebApp;
  const query = (text: string) => ({ method: 'POST', body: { query: text } });
  const send = async (text: string) => (await ask(`${web.url}/graphql`, query(text))).body;

  beforeAll(async () => {
    web = await webApp(platform, APP);
  });
  afterAll(() => web.app.close());
  test.each(['above', 'below', 'intercepted'])('is locked (%s)', async (name) => {
    const lock = await web.locks.acquire('order:1');
    const answer = send(`{ ${name}(id: "1") }`);
    await waiting(web.locks, 'order:1', 1);
    await lock.release();
    expect(await answer).toEqual({ data: { [name]: '1 order:1' } });
  });

  test('whose client disconnects in line leaves the line', () => leavesTheLine('below', web));

  test("leaves the line two services down with requestScope: 'deep'", async () => {
    const deep = await webApp(platform, APP, { requestScope: 'deep' });
    await leavesTheLine('twoDown', deep);
    await deep.app.close();
  });

  async function leavesTheLine(name: string, web: WebApp): Promise<void> {
    await using _lock = await web.locks.acquire('order:1');
    const client = leavingClient(`${web.url}/graphql`, query(`{ ${name}(id: "1") }`));
    await waiting(web.locks, 'order:1', 1);
    client.leave();
    await waiting(web.locks, 'order:1', 0);
  }
});
