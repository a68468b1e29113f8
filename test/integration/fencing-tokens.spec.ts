import { Redis } from 'ioredis';
import type { FairLock } from '../../lib/core/holds/fair-lock.js';
import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { deferred, within } from '../support/waiting.js';

/** By so much (ms) the clock of the server that lost its data was ahead of that of the next. */
const AHEAD = 60_000;
/** Within this (ms) a grant arrives on a busy machine; without the mend it would take until the clock is past the token. */
const SOON = 5_000;

let redis: Redis;
let prefix: string;
let clients: InProcessClients;

const loseData = () => redis.del(`${prefix}:{lock}`, `${prefix}:{lock}:queue`, `${prefix}:{lock}:clients`);

beforeEach(() => {
  redis = new Redis(redisUrl());
  prefix = uniquePrefix();
  clients = new InProcessClients(prefix, { lease: 3_000, livenessWindow: 2_000, commandTimeout: 1_000 });
});
afterEach(async () => {
  await clients.close();
  redis.disconnect();
});

describe('where a server lost its data and its clock is behind the last token', () => {
  let other: InProcessClient;
  let client: InProcessClient;
  let first: FairLock;
  let second: Promise<FairLock>;

  const inLine = async (leaseTime?: number): Promise<{ readonly grant: Promise<FairLock> }> => {
    const queued = deferred<void>();
    const grant = client.service.acquire('lock', { leaseTime, onQueued: () => queued.resolve() });
    grant.catch(() => undefined);
    await queued.promise;
    return { grant };
  };

  beforeEach(async () => {
    [other, client] = [await clients.start(redisUrl()), await clients.start(redisUrl())];
    // Two of one client wait, not to be granted together; the first gets a token of the clock that is ahead, by a message.
    const holder = await other.service.acquire('lock');
    const { grant } = await inLine(1_500);
    ({ grant: second } = await inLine());
    await redis.hset(`${prefix}:{lock}`, 'last-token', String((Date.now() + AHEAD) * 1_000));
    await holder.release();
    first = await grant;
    await loseData();
  });

  test('a client that saw that token only in a message gets a higher one', async () => {
    await first.release();
    const next = await within(second, SOON, 'the second turn');
    expect(next.token).toBeGreaterThan(first.token!);
    await next.release();
  });

  test('its waiters are granted the lock behind another client that did not see the token', async () => {
    const between = await other.service.acquire('lock');
    await first.release();
    await between.release();
    const next = await within(second, SOON, 'the second turn');
    expect(next.token).toBeGreaterThan(first.token!);
    await next.release();
  });

  test('a client that left the line in between gives a lower token back, and asks for a higher one', async () => {
    await first.release();
    const seen = await within(second, SOON, 'the second turn');
    await seen.release();
    const holder = await other.service.acquire('lock');
    const { grant } = await inLine();
    // The line is kept: the heartbeat of a waiter finds the lock free, and the server takes its token from a clock that is behind.
    await redis.del(`${prefix}:{lock}`);
    const next = await within(grant, SOON, 'the third turn');
    expect(next.token).toBeGreaterThan(seen.token!);
    await next.release();
    await holder.release();
  });
});

describe('where a server lost its data and its clock is behind the number of a shared hold', () => {
  test.each(['a reply', 'a message'])('a client that saw it in %s gets the lock alone', async (means) => {
    const [other, client] = [await clients.start(redisUrl()), await clients.start(redisUrl())];
    const holder = await other.service.acquire('lock');
    const queued = deferred<void>();
    const options = { mode: 'read', onQueued: () => queued.resolve() } as const;
    const waiting = means === 'a message' ? client.service.acquire('lock', options) : undefined;
    if (waiting) await queued.promise;
    else await holder.release();
    await redis.hset(`${prefix}:{lock}`, 'last-token', String((Date.now() + AHEAD) * 1_000));
    if (waiting) await holder.release();
    const read = await (waiting ?? client.service.acquire('lock', options));
    await loseData();
    const grant = client.service.acquire('lock');
    await read.release();
    await (await within(grant, SOON, 'the lock alone')).release();
  });
});
