/** The oldest Nest, and what a client learns of the errors of locks on each of its transports: test/nest/errors.spec.ts asks the newest. */
import { ClientProxyFactory, Transport } from '@nestjs/microservices';
import { firstValueFrom } from 'rxjs';
import { freePort, uniquePrefix } from '../support/redis.js';
import { leavingClient, webSocket } from '../nest/web-app.js';
import { describeConsumer, ESM } from './consumer.js';
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

describe('with the oldest Nest and ioredis', () => {
  const installation = new Installation();
  describeConsumer(VERSIONS, installation, PACKAGES, ['app', 'copies', 'mixed', 'transports']);
  const program = () => installation.program(ESM, 'transports');

  describe('in an application that sets up nothing for errors', () => {
    const client = clientOf(program, {});

    test.each([
      ['HTTP', 'pay'],
      ['SSE where an async handler takes it before it returns the stream', 'feed-with-status'],
    ])('a busy lock is answered 423 by %s', async (_, path) => {
      const { status, headers, body } = await client.get(path);
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
      const leaving = leavingClient(`${client.app.url}/slow`);
      await client.app.waiting(1);
      leaving.leave();
      await client.app.waiting(0);
      const { socket, send } = await webSocket(client.app);
      send('slow');
      await client.app.waiting(1);
      socket.terminate();
      await client.app.waiting(0);
    });

    test('a free lock is held by such a stream until its response is closed', async () => {
      await client.app.post('release');
      expect((await client.get('feed-with-status')).body).toContain('data: paid');
      expect((await client.get('pay')).body).toBe('paid');
      await client.app.post('hold');
    });

    test('nothing of it was logged as an error', () => {
      expect(client.app.errors()).toBe('');
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
    const client = clientOf(program, { FILTER: 'false' });

    test('Nest answers 423 by HTTP, and no transport tells a key, a holder or a host', async () => {
      expect((await client.get('pay')).status).toBe(423);
      expect((await client.get('feed')).body).toContain(`data: ${NOT_GRANTED}`);
      expect(await client.graphql()).toMatchObject({ errors: [{ message: BUSY.message }] });
      expect(await client.rpc()).toMatchObject({ message: 'Internal server error' });
      expect(client.answers()).not.toMatch(SECRETS);
    });
  });

  test('a signal ends an application as it should: a leader first, which still has its database, while its gateway is refused and its timer is skipped', async () => {
    const app = await RunningApp.start(program(), uniquePrefix(), {
      RPC_PORT: String(await freePort()),
      HEARTBEAT: 'true',
    });
    await webSocket(app);
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
  beforeAll(async () => {
    port = await freePort();
    app = await RunningApp.start(program(), uniquePrefix(), { RPC_PORT: String(port), ...environment });
    await app.post('hold');
  }, INSTALL_TIMEOUT);
  afterAll(async () => {
    await app.post('release');
    expect(await app.close()).toBeNull();
  });

  return {
    get app() {
      return app;
    },
    answers: () => JSON.stringify(answers),
    get: async (path: string) => kept(await app.get(path)),
    graphql: async () => kept((await app.post('graphql', { query: '{ pay }' })).body),
    rpc: async () => {
      const proxy = ClientProxyFactory.create({ transport: Transport.TCP, options: { port } });
      try {
        return kept<unknown>(await firstValueFrom(proxy.send('pay', {})).catch((error: unknown) => error));
      } finally {
        await proxy.close();
      }
    },
    ws: async () => {
      const { socket, send, answer } = await webSocket(app);
      send('pay');
      const answered = await answer();
      socket.terminate();
      return kept(answered);
    },
  };
}
