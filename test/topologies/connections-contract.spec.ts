import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import type { RedisSource } from '../../lib/stores/redis-client/connection/redis-source.js';
import { describeLockStore } from '../contract/lock-store.contract.js';
import { capabilities, lineOfItsOwn } from '../contract/redis.line.js';
import { QUICK } from '../support/quick.js';
import { freePort, startRedisServer, uniquePrefix } from '../support/redis.js';
import { SentinelSetup } from '../support/sentinel.js';
import { makeCertificate } from './tls.js';
import { documentedAcl } from './documented-acl.js';

const HOST = '127.0.0.1';

/** A way to reach a Redis, and what must hold of that server afterwards. */
interface Way {
  readonly name: string;
  open(): Promise<{ source: RedisSource; after?: () => Promise<void>; close(): Promise<void> }>;
}

/** A plain server, reached as the options say. */
const plainly = (name: string, options: object): Way => ({
  name,
  open: async () => {
    const server = await startRedisServer();
    return { source: { host: HOST, port: server.port, ...options }, close: () => server.stop() };
  },
});

/** All that may be refused, at once: a connection without a certificate, and a command without the right to it. */
const overTlsWithMinimalRights: Way = {
  name: 'over TLS with a certificate on both sides, as a user with the rights that the documentation gives, and none denied',
  open: async () => {
    const { files, tls, remove } = await makeCertificate();
    const port = await freePort();
    const server = await startRedisServer({
      config: {
        port: 0,
        'tls-port': port,
        'tls-ca-cert-file': files.cert,
        'tls-cert-file': files.cert,
        'tls-key-file': files.key,
      },
    });
    const admin = new Redis({ host: HOST, port, tls });
    await admin.call('ACL', ...documentedAcl().user);
    const after = async (): Promise<void> => expect(await admin.call('ACL', 'LOG')).toEqual([]);
    const close = async (): Promise<void> => {
      admin.disconnect();
      await server.stop();
      await remove();
    };
    return { source: { host: HOST, port, tls, username: 'lock', password: 'secret' }, after, close };
  },
};

const byUnixSocket: Way = {
  name: 'by a Unix socket',
  open: async () => {
    const server = await startRedisServer({ config: { unixsocket: 'redis.sock', port: await freePort() } });
    return { source: join(server.dir, 'redis.sock'), close: () => server.stop() };
  },
};

const fromIoredis5: Way = {
  name: 'from an existing client of ioredis 5',
  open: async () => {
    const server = await startRedisServer();
    const users = new Redis5(server.url);
    const close = async (): Promise<void> => {
      expect(await users.ping()).toBe('PONG');
      users.disconnect();
      await server.stop();
    };
    return { source: users as unknown as Redis, close };
  },
};

const bySentinels: Way = {
  name: 'behind sentinels',
  open: async () => {
    const setup = await SentinelSetup.start();
    return { source: setup.options, close: () => setup.stop() };
  },
};

const OTHERS = [
  fromIoredis5,
  bySentinels,
  plainly('with a key prefix of the client', { keyPrefix: 'shop:' }),
  byUnixSocket,
  plainly('in another database', { db: 5 }),
  plainly('in RESP2', { protocol: 2 }),
  plainly('in RESP3', { protocol: 3 }),
];

describe.each([overTlsWithMinimalRights, ...(QUICK ? [] : OTHERS)])('$name', ({ open }) => {
  let way: Awaited<ReturnType<Way['open']>>;
  beforeAll(async () => {
    way = await open();
  });
  afterAll(async () => {
    await way.after?.();
    await way.close();
  });
  // The documented rule is for the default prefix; each way has a server of its own.
  const keyPrefix = open === overTlsWithMinimalRights.open ? 'fairlock' : uniquePrefix();

  describeLockStore(
    'redis',
    lineOfItsOwn(() => way.source, keyPrefix),
    capabilities,
  );
});
