/**
 * Three instances behind a balancer that chooses one for each connection, as a Service of Kubernetes does. Their clients keep their
 * connections alive and send a refused request again. All instances are replaced, one after the other.
 */
import { once } from 'node:events';
import { Agent, type ClientRequestArgs, type IncomingMessage, request } from 'node:http';
import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';
import { text } from 'node:stream/consumers';
import { Controller, Get, type INestApplication, Param } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { FairLocked, FairLockModule } from 'nestjs-fair-lock';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { eventually, SOON, within } from '../support/waiting.js';
import { type Platform, PLATFORMS } from './web-app.js';

const INSTANCES = 3;
const CLIENTS = 6;
/** The module refuses requests some moments before Nest stops to accept connections, so a connection that is made then is refused, too. */
const MOST_REFUSALS = 10 * CLIENTS * INSTANCES;

@Controller()
class ShopController {
  @Get('order/:id')
  @FairLocked('order:<0>')
  async order(@Param('id') id: string): Promise<string> {
    await new Promise(setImmediate);
    return id;
  }

  /** A route that locks nothing. */
  @Get('price/:id')
  price(@Param('id') id: string): string {
    return id;
  }
}

/** Leads each new connection to the next instance, as the balancer does. */
class BalancedAgent extends Agent {
  private static turn = 0;

  constructor(private readonly ports: readonly number[]) {
    super({ keepAlive: true, maxSockets: 1 });
  }

  override createConnection(options: ClientRequestArgs): Socket {
    const port = this.ports[BalancedAgent.turn++ % this.ports.length]!;
    return connect({ ...(options as TcpNetConnectOpts), port });
  }
}

/** What the clients saw. */
interface Seen {
  served: number;
  /** Answers of instances that were about to end. */
  refused: number;
  /** Everything else. */
  readonly failures: unknown[];
}

async function start(platform: Platform, keyPrefix: string, return503OnClosing: boolean) {
  const module = await Test.createTestingModule({
    imports: [FairLockModule.forRoot({ redis: redisUrl(), keyPrefix })],
    controllers: [ShopController],
  }).compile();
  const options = { logger: false, return503OnClosing } as const;
  const app: INestApplication =
    platform === 'express'
      ? module.createNestApplication(new ExpressAdapter(), options)
      : module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), options);
  await app.listen(0, '127.0.0.1');
  return { app, port: Number(new URL(await app.getUrl()).port) };
}

/** Asks for one thing after the other on a connection that is kept alive; a request that is refused is sent again. */
async function shop(ports: readonly number[], path: string, seen: Seen, ended: () => boolean): Promise<void> {
  const agent = new BalancedAgent(ports);
  for (let id = 0; !ended();) {
    try {
      const sent = request({ host: '127.0.0.1', path: `/${path}/${id}`, agent }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      const body = await text(response);
      if (response.statusCode === 503) seen.refused += 1;
      else if (body === String(id)) [seen.served, id] = [seen.served + 1, id + 1];
      else seen.failures.push([response.statusCode, body]);
    } catch (error) {
      // An instance that stops closes its idle connections, perhaps while a request is on its way there: every client has to expect
      // this of a connection that it reuses. A connection that it no longer accepts is led to the next one.
      const { code = '' } = error as NodeJS.ErrnoException;
      if (!['ECONNRESET', 'ECONNREFUSED'].includes(code)) seen.failures.push(error);
    }
  }
  agent.destroy();
}

const CASES = PLATFORMS.flatMap((platform) => [
  [platform, ['order'], false] as const,
  [platform, ['order', 'price'], true] as const,
]);

test.each(CASES)(
  'on %s a restart of all instances (%p, return503OnClosing: %p) ends, and refuses each client a few times',
  async (platform, paths, return503OnClosing) => {
    const keyPrefix = uniquePrefix();
    const ports: number[] = [];
    let instances: Awaited<ReturnType<typeof start>>[] = [];
    for (let i = 0; i < INSTANCES; i += 1) {
      instances.push(await start(platform, keyPrefix, return503OnClosing));
      ports.push(instances[i]!.port);
    }
    const seen: Seen = { served: 0, refused: 0, failures: [] };
    let ended = false;
    const clients = Array.from({ length: CLIENTS }, (_, i) =>
      shop(ports, paths[i % paths.length]!, seen, () => ended),
    );
    const more = async (): Promise<void> => {
      const before = seen.served;
      await eventually(() => seen.served > before + 10 * CLIENTS, SOON, 'orders to be served');
    };
    try {
      await more();
      for (const old of [...instances]) {
        const fresh = await start(platform, keyPrefix, return503OnClosing);
        ports.push(fresh.port);
        instances = [...instances.filter((each) => each !== old), fresh];
        await within(old.app.close(), SOON, 'an instance to close');
        ports.splice(ports.indexOf(old.port), 1);
        await more();
      }
    } finally {
      ended = true;
      await Promise.all(clients);
      await Promise.all(instances.map(({ app }) => app.close()));
    }
    expect(seen.failures).toEqual([]);
    expect(seen.refused).toBeLessThan(MOST_REFUSALS);
  },
);
