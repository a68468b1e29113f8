/** What a client learns of the errors of locks, on each transport of the oldest Nest: test/nest/errors.spec.ts asks the newest. */
import { once } from 'node:events';
import { ClientProxyFactory, Transport } from '@nestjs/microservices';
import { firstValueFrom } from 'rxjs';
import { WebSocket } from 'ws';
import { freePort, uniquePrefix } from '../support/redis.js';
import { eventually, SOON, within } from '../support/waiting.js';
import { ask, leavingClient } from '../nest/web-app.js';
import { Installation } from './installation.js';
import { RunningApp } from './running-app.js';

const INSTALL_TIMEOUT = 600_000;

const VERSIONS = { nest: '11.0.0', ioredis: '5.4.0', typescript: '5.7' };
const PACKAGES = [
  ...['@nestjs/microservices@11.0.0', '@nestjs/websockets@11.0.0', '@nestjs/graphql@13.0.0'],
  ...['@nestjs/platform-ws@11.0.5', 'graphql@16', 'ws@8', '@types/ws@8', '@types/express@5'],
];

/** The key, the label of the holder, and its process. */
const SECRETS = /alice|Billing|charge|\d+\/Bill/;
const BUSY = { statusCode: 423, code: 'WAIT_TIMEOUT', message: 'The lock is busy.', retryAfter: 1 };

/** After the wait time of the feed. */
const NOT_GRANTED = 'The lock was not granted within 50 ms.';

describe(`the transports of Nest ${VERSIONS.nest}`, () => {
  const installation = new Installation();
  let program: string;
  beforeAll(async () => {
    await installation.install(VERSIONS, PACKAGES);
    program = await installation.build({ format: 'cjs', compiler: 'tsc', strict: true }, 'transports');
  }, INSTALL_TIMEOUT);
  afterAll(() => installation.remove());

  describe('in an application that sets up nothing for errors', () => {
    const client = clientOf(() => program, {});

    test('a busy lock is answered 423 by HTTP', async () => {
      const { status, headers, body } = await client.get('pay');
      expect([status, headers['retry-after'], body]).toEqual([423, '1', { ...BUSY, error: 'Locked' }]);
    });

    test('a busy lock is answered 423 by SSE where an async handler takes it before it returns the stream', async () => {
      const { status, headers, body } = await client.get('feed-with-status');
      expect([status, headers['retry-after'], body]).toEqual([423, '1', { ...BUSY, error: 'Locked' }]);
    });

    test('a request that makes no key is answered 400', async () => {
      expect(await client.get('by-id')).toMatchObject({ status: 400, body: { code: 'KEY' } });
    });

    test('a busy lock is answered by GraphQL with its code and status among the extensions', async () => {
      const { message, ...extensions } = BUSY;
      expect(await client.graphql()).toMatchObject({ errors: [{ message, extensions }] });
    });

    test('a busy lock is answered as an RPC error', async () => {
      expect(await client.rpc()).toEqual({ status: 'error', ...BUSY });
    });

    test('a busy lock is answered as an exception event to a gateway without a filter of its own', async () => {
      const cause = { pattern: 'pay', data: '' };
      expect(await client.ws()).toEqual({ event: 'exception', data: { status: 'error', ...BUSY, cause } });
    });

    test('a client that goes away leaves the line, of HTTP as of WebSocket', async () => {
      const leaving = leavingClient(`${client.url}/slow`);
      await client.waiting(1);
      leaving.leave();
      await client.waiting(0);
      const socket = await client.open('slow');
      await client.waiting(1);
      socket.terminate();
      await client.waiting(0);
    });

    test('a free lock is held by such a stream until its response is closed', async () => {
      await client.release();
      expect((await client.get('feed-with-status')).body).toContain('data: paid');
      expect((await client.get('pay')).body).toBe('paid');
      await client.hold();
    });

    test('nothing of it was logged as an error', () => {
      expect(client.errors()).toBe('');
    });

    test('a busy lock is answered by SSE with an error event, where Nest has sent the head of the response before the wait is over', async () => {
      const { status, body } = await client.get('feed');
      expect([status, body]).toEqual([200, expect.stringContaining(`event: error`)]);
      expect(body).toContain(`data: ${NOT_GRANTED}`);
    });

    test('no answer had a key, a holder or a host', () => {
      expect(client.answers()).not.toMatch(SECRETS);
    });
  });

  describe('in an application with filter: false and no filter of its own', () => {
    const client = clientOf(() => program, { FILTER: 'false' });

    test('Nest answers 423 by HTTP, and no transport tells a key, a holder or a host', async () => {
      expect((await client.get('pay')).status).toBe(423);
      expect((await client.get('feed')).body).toContain(`data: ${NOT_GRANTED}`);
      expect(await client.graphql()).toMatchObject({ errors: [{ message: BUSY.message }] });
      expect(await client.rpc()).toMatchObject({ message: 'Internal server error' });
      expect(client.answers()).not.toMatch(SECRETS);
    });
  });

  test('a signal ends an application as it should: a leader first, which still has its database, while its gateway is refused and its timer is skipped', async () => {
    const app = await RunningApp.start(program, uniquePrefix(), {
      RPC_PORT: String(await freePort()),
      HEARTBEAT: 'true',
    });
    const socket = new WebSocket(app.url.replace('http', 'ws'));
    await once(socket, 'open');
    expect(await app.close()).toBeNull();
    expect(app.errors()).toBe('');
  });
});

/** A client of the application while another holds the lock; it keeps all answers. */
function clientOf(program: () => string, environment: Record<string, string>) {
  let app: RunningApp;
  let port: number;
  const answers: unknown[] = [];
  const kept = <T>(answer: T): T => {
    answers.push(answer);
    return answer;
  };
  const hold = () => ask(`${app.url}/hold`, { method: 'POST' });
  const release = () => ask(`${app.url}/release`, { method: 'POST' });
  const open = async (event: string): Promise<WebSocket> => {
    const socket = new WebSocket(app.url.replace('http', 'ws'));
    await once(socket, 'open');
    socket.send(JSON.stringify({ event, data: '' }));
    return socket;
  };

  beforeAll(async () => {
    port = await freePort();
    app = await RunningApp.start(program(), uniquePrefix(), { RPC_PORT: String(port), ...environment });
    await hold();
  }, INSTALL_TIMEOUT);
  afterAll(async () => {
    await release();
    expect(await app.close()).toBeNull();
  });

  return {
    get url() {
      return app.url;
    },
    answers: () => JSON.stringify(answers),
    errors: () => app.errors(),
    hold,
    release,
    open,
    get: async (path: string) => kept(await ask(`${app.url}/${path}`)),
    graphql: async () =>
      kept((await ask(`${app.url}/graphql`, { method: 'POST', body: { query: '{ pay }' } })).body),
    rpc: async () => {
      const proxy = ClientProxyFactory.create({ transport: Transport.TCP, options: { port } });
      try {
        return kept<unknown>(await firstValueFrom(proxy.send('pay', {})).catch((error: unknown) => error));
      } finally {
        await proxy.close();
      }
    },
    ws: async () => {
      const socket = await open('pay');
      const [message] = (await within(once(socket, 'message'), SOON, 'an answer')) as [Buffer];
      socket.terminate();
      return kept(JSON.parse(message.toString()) as unknown);
    },
    waiting: (count: number) =>
      eventually(
        async () => (await ask(`${app.url}/waiting`)).body === String(count),
        SOON,
        `${count} in line`,
      ),
  };
}
