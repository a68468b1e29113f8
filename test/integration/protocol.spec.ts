import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { scriptsOf } from '../../lib/stores/redis/commands.js';
import { redisUrl, startRedisServer, uniquePrefix } from '../support/redis.js';
import { eventually, pause, SOON } from '../support/waiting.js';

const TIMES = { lease: 30_000, window: 10_000, commandTimeout: 1_000, rowLength: 64 };

interface Reply {
  readonly token: number;
  readonly again: string;
  /** `<token> <left> <sequence>,…` */
  readonly granted: string;
  readonly answers: readonly string[];
}

/** A client that sends the commands of the protocol by hand, and does nothing else. */
class Client {
  readonly id = randomBytes(4).toString('hex');
  readonly messages: string[] = [];
  private subscription: Redis | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly prefix: string,
    private readonly times: typeof TIMES = TIMES,
  ) {}

  get keys(): [string, string, string] {
    const hash = `${this.prefix}:{lock}`;
    return [hash, `${hash}:queue`, `${hash}:clients`];
  }

  async listen(): Promise<this> {
    this.subscription = this.redis.duplicate();
    this.subscription.on('message', (_channel, text: string) => this.messages.push(text));
    await this.subscription.subscribe(`${this.prefix}:client:${this.id}`);
    return this;
  }

  deaf(): void {
    this.subscription?.disconnect();
  }

  acquire(sequence: number, { terms = '', most = '', ticket = '' } = {}): Promise<Reply> {
    const words = [`${this.id}:${sequence}`, `${terms}:label`];
    return this.run('acquire', terms || most || ticket ? [...words, most, ticket] : words);
  }

  acquireAll(...sequences: number[]): Promise<Reply> {
    return this.join(sequences.map((sequence) => ({ sequence })));
  }

  /** Requests of several kinds, by one command. */
  join(asks: readonly { sequence: number; terms?: string; most?: string }[]): Promise<Reply> {
    return this.run(
      'acquire',
      asks.flatMap(({ sequence, terms = '', most = '' }) => [
        `${this.id}:${sequence}`,
        `${terms}:label`,
        most,
        '',
      ]),
    );
  }

  done(sequence: number, ...more: string[]): Promise<Reply> {
    return this.run('done', [`${this.id}:${sequence}`, ...more]);
  }

  async beat(held: readonly number[], waiting: readonly number[] = []): Promise<Reply> {
    return this.run('heartbeat', [
      this.id,
      `${held.length}`,
      ...held.flatMap((sequence) => [`${this.id}:${sequence}`, '', '']),
      ...waiting.map((sequence) => `${this.id}:${sequence}::label`),
    ]);
  }

  private async run(name: 'acquire' | 'done' | 'heartbeat', words: readonly string[]): Promise<Reply> {
    const { lua } = scriptsOf(this.times, undefined)[name];
    const raw = await this.redis.eval(lua, 3, ...this.keys, ...words);
    if (!Array.isArray(raw)) return { token: Number(raw), again: '', granted: String(raw), answers: [] };
    const [token, again, granted, ...answers] = raw as string[];
    return { token: Number(token), again: again!, granted: granted!, answers };
  }
}

/** The rules of docs/internals/protocol.md that the scripts keep. Those that a client keeps are in test/unit/redis/lock.spec.ts. */
describe('the scripts of the native protocol', () => {
  let redis: Redis;
  let prefix: string;
  const clients: Client[] = [];
  const client = (times?: Partial<typeof TIMES>): Promise<Client> => {
    const made = new Client(redis, prefix, { ...TIMES, ...times });
    clients.push(made);
    return made.listen();
  };
  const three = (): Promise<[Client, Client, Client]> => Promise.all([client(), client(), client()]);
  /** The first holds, and so many of the others wait. */
  const line = async (waiting = 0): Promise<[Client, Client, Client]> => {
    const all = await three();
    for (const one of all.slice(0, 1 + waiting)) await one.acquire(1);
    return all;
  };
  /** Nobody listens for it any more. */
  const silence = async (one: Client): Promise<void> => {
    one.deaf();
    const listeners = async () => (await redis.pubsub('NUMSUB', `${prefix}:client:${one.id}`))[1];
    await eventually(async () => (await listeners()) === 0, SOON, 'the channel to be empty');
  };
  const message = (to: Client): Promise<void> =>
    eventually(() => to.messages.length > 0, SOON, 'the message of a grant');

  beforeAll(() => {
    // Else a timer of ioredis stays for two seconds for each connection that is closed.
    redis = new Redis(redisUrl(), { disconnectTimeout: 50 });
  });
  beforeEach(() => {
    prefix = uniquePrefix();
  });
  afterEach(() => {
    for (const one of clients.splice(0)) one.deaf();
  });
  afterAll(() => redis.disconnect());

  test('rule 1: a repeated acquire answers with the same grant, and with the same place', async () => {
    const [holder, waiter] = await three();
    const { token } = await holder.acquire(1);
    expect((await holder.acquire(1)).answers[0]).toMatch(new RegExp(`^held \\d+ ${token}$`));
    const { answers } = await waiter.acquire(1);
    expect(await waiter.acquire(1)).toMatchObject({ answers });
    expect(answers[0]).toMatch(/^line \d+ 0$/);
  });

  test('rule 1: a repeated done ends nothing that came after it', async () => {
    const [holder, next] = await line();
    await holder.done(1);
    const { token } = await next.acquire(1);
    expect((await holder.done(1, ':label')).answers).toEqual(['none']);
    expect((await next.beat([1])).answers[0]).toMatch(new RegExp(`^held \\d+ ${token}$`));
  });

  test('rule 3: a holder learns that its lease has expired by the clock of Redis, which may have been set forward', async () => {
    const [holder, next] = await three();
    const { token } = await holder.acquire(1);
    await next.acquire(1);
    const format = await redis.hget(holder.keys[0], 'format');
    // As if the end of the lease had come.
    const over = Date.now() - 1;
    await redis.hset(
      holder.keys[0],
      'format',
      format!.replace(/\d+$/, `${over}`),
      `h:${holder.id}:1`,
      `${over} ${token} :label`,
    );
    await next.beat([], [1]);
    await message(holder);
    expect(holder.messages).toEqual([`expired 1 ${token} ${holder.keys[0]}`]);
  });

  test('a forced release that names a token ends nothing that was granted since', async () => {
    const [holder] = await three();
    const { token: before } = await holder.acquire(1);
    await holder.done(1);
    const { token } = await holder.acquire(1);
    expect((await holder.done(1, '', 'force', `${before}`)).answers).toEqual(['none']);
    expect((await holder.beat([1])).answers[0]).toMatch(new RegExp(`^held \\d+ ${token}$`));
    expect((await holder.done(1, '', 'force', `${token}`)).answers).toEqual(['held']);
  });

  test('rule 2: a request that asks again with its ticket stands in front of younger ones', async () => {
    const [holder, elder, younger] = await line();
    const ticket = (await elder.acquire(1)).answers[0]!.split(' ')[1]!;
    await younger.acquire(1);
    await redis.zrem(holder.keys[1], `${elder.id}:1::label`);
    expect((await elder.beat([], [1])).answers).toEqual(['none']);
    // A late copy of its first command, which has no ticket.
    expect((await elder.acquire(1)).answers).toEqual([expect.stringMatching(/^line \d+ 1$/)]);
    expect((await elder.acquire(1, { ticket })).answers).toEqual([`line ${ticket} 0`]);
  });

  test('rule 2: a request that accepts only a short line, and asks again with its ticket, stands in front of younger ones', async () => {
    const [holder, elder, younger] = await line();
    const ticket = (await elder.acquire(1, { most: '1' })).answers[0]!.split(' ')[1]!;
    await younger.acquireAll(1, 2);
    await redis.zrem(holder.keys[1], `${elder.id}:1::label`);
    await redis.hdel(holder.keys[0], `h:${holder.id}:1`);
    await redis.hset(holder.keys[0], 'format', '2 1795807495109123 - 0 - -');
    expect((await elder.acquire(1, { most: '1', ticket })).granted).toMatch(/ 1$/);
    expect(younger.messages).toEqual([]);
  });

  test('rule 3: a lease that is not renewed ends by the clock of Redis, and whoever calls next passes the lock on', async () => {
    const [holder, waiter] = [await client({ lease: 100 }), await client()];
    await holder.acquire(1);
    const { again } = await waiter.acquire(1);
    expect(Number(again)).toBeLessThanOrEqual(101);
    await pause(Number(again) + 2); // a timer may fire a millisecond before its time
    expect((await waiter.beat([], [1])).granted).toMatch(/^\d+ 30000 1$/);
    expect((await holder.beat([1])).answers).toEqual(['none']);
  });

  test('rule 4: a grant in a reply has the whole lease, one that goes out by message the first lease', async () => {
    const [holder, waiter] = await line(1);
    await holder.done(1);
    await message(waiter);
    expect(waiter.messages[0]).toMatch(new RegExp(`^granted \\d+ ${TIMES.window} 1 `));
    await holder.acquire(2);
    await waiter.done(1, ':label');
    expect((await holder.beat([2])).answers[0]).toMatch(/^held 30000 /);
  });

  test('rule 5: every reply tells the token that was given last, that of its own script included', async () => {
    const [holder, waiter] = await three();
    const first = await holder.acquire(1);
    const queued = await waiter.acquire(1);
    expect(queued.token).toBe(first.token);
    const { token } = await holder.done(1);
    await message(waiter);
    expect(token).toBe(Number(waiter.messages[0]!.split(' ')[1]));
    expect(token).toBeGreaterThan(queued.token);
  });

  test('rule 6: a heartbeat tells what the server knows: held, in line, or nothing', async () => {
    const [holder, waiter] = await line(1);
    expect((await holder.beat([1, 2])).answers).toEqual([expect.stringMatching(/^held 30000 \d+$/), 'none']);
    expect((await waiter.beat([], [1, 2])).answers).toEqual(['line', 'none']);
  });

  test('rule 7: a client to which nobody listens is passed over, keeps its place, and is served when it calls', async () => {
    const [holder, deaf, next] = await line(2);
    await silence(deaf);
    await holder.done(1);
    await message(next);
    expect((await deaf.beat([], [1])).answers).toEqual(['line']);
    await next.done(1, ':label');
    expect((await deaf.beat([], [1])).answers).toEqual([expect.stringMatching(/^held /)]);
  });

  test('rule 7: a client that stays silent after that leaves the line; one that calls does not', async () => {
    const [holder, dead, next] = await line(1);
    await silence(dead);
    await holder.done(1);
    // 250 ms, and one for rounding.
    await pause(251);
    expect((await next.acquire(1)).granted).toMatch(/1$/);
    expect(await redis.zcard(holder.keys[1])).toBe(0);
  });

  test('rule 8: the heartbeat of the head reminds the holder, which may not know of its hold', async () => {
    const [holder, next, last] = await line();
    await holder.done(1);
    // A copy that comes late.
    const { token } = await holder.acquire(1);
    await next.acquire(1);
    await last.acquire(1);
    await last.beat([], [1]);
    await next.beat([], [1]);
    await message(holder);
    expect(holder.messages).toEqual([
      expect.stringMatching(new RegExp(`^held ${token} \\d+ 1 ${holder.keys[0]}$`)),
    ]);
  });

  test('rule 8: a client is reminded of the hold that its own heartbeat does not name', async () => {
    const [holder] = await line();
    await holder.acquire(2);
    await holder.beat([1], [2]);
    await holder.beat([], [2]);
    await message(holder);
    expect(holder.messages).toEqual([expect.stringMatching(/^held \d+ \d+ 1 /)]);
  });

  describe('rule 9: neighbours of a request that is granted', () => {
    let batch: Client;
    let other: Client;
    const inQueue = async (): Promise<string[]> => {
      const names = await redis.zrange(batch.keys[1], 0, '-1');
      return names.map((name) => name.split(':', 2).join(':'));
    };
    const ids = (...sequences: number[]): string[] => sequences.map((sequence) => `${batch.id}:${sequence}`);

    /** 1, 2 and 3 of `batch` wait, behind them `other`, and 4 of `batch`; then 1 is granted. */
    beforeEach(async () => {
      const holder = await client();
      [batch, other] = [await client(), await client()];
      await holder.acquire(1);
      await batch.acquireAll(1, 2, 3);
      await other.acquire(1);
      await batch.acquire(4);
      await holder.done(1);
      await message(batch);
    });

    test('are named with it, have tokens in a row, and stay in their places', async () => {
      const { token } = await batch.acquire(4);
      expect(batch.messages[0]).toMatch(new RegExp(`^granted ${token - 2} \\d+ 1,2,3 `));
      expect(await inQueue()).toEqual([...ids(2, 3), `${other.id}:1`, ...ids(4)]);
    });

    test('leave with it if they have had their turns; the lock goes to the next in the queue', async () => {
      const { token } = await batch.done(1, ':label', '', '', `${batch.id}:2::label`, `${batch.id}:3::label`);
      await message(other);
      expect(other.messages[0]).toMatch(new RegExp(`^granted ${token} \\d+ 1 `));
      expect(await inQueue()).toEqual(ids(4));
    });

    test('are next if it gives up', async () => {
      const { answers, granted } = await batch.done(1, ':label');
      expect(answers[0]).toBe('held');
      expect(granted).toMatch(/ 2,3$/);
      expect(await inQueue()).toEqual([...ids(3), `${other.id}:1`, ...ids(4)]);
    });

    test('are next if it is ended by force', async () => {
      await redis.eval(
        scriptsOf(TIMES, undefined).done.lua,
        3,
        ...batch.keys,
        `${batch.id}:1`,
        '',
        'force',
        '',
      );
      await eventually(() => batch.messages.length > 2, SOON, 'the messages');
      expect(batch.messages.slice(1)).toEqual([
        expect.stringMatching(/^lost 1 /),
        expect.stringMatching(/^granted \d+ \d+ 2,3 /),
      ]);
    });

    test('are out of the queue as soon as a heartbeat tells that they have their turn', async () => {
      const words = [batch.id, '1', `${batch.id}:1`, '', `1795807495109124 ${batch.id}:2::label`];
      await redis.eval(scriptsOf(TIMES, undefined).heartbeat.lua, 3, ...batch.keys, ...words);
      expect(await inQueue()).toEqual([...ids(3), `${other.id}:1`, ...ids(4)]);
      expect(await redis.hget(batch.keys[0], `h:${batch.id}:1`)).toMatch(/^\d+ 1795807495109124 :label$/);
    });
  });

  test('rule 9: a lock whose kept tokens run ahead of the clock remembers them until the clock has caught up', async () => {
    const window = 60_000; // for so long the clock stays behind, however slow this machine is
    const [holder, batch] = [await client({ window }), await client({ window })];
    await holder.acquire(1);
    const all = Array.from({ length: 64 }, (_, i) => i + 1);
    await batch.acquireAll(...all);
    const ahead = `${Date.now() + window}000`;
    const [hash] = holder.keys;
    const [format = '', ...rest] = (await redis.hget(hash, 'format'))!.split(' ');
    await redis.hset(hash, 'format', [format, ahead, ...rest.slice(1)].join(' '));
    await holder.done(1);
    for (const sequence of all) await batch.done(sequence, ':label');
    expect(await redis.exists(...holder.keys)).toBe(1);
    const { token } = await holder.acquire(2);
    expect(token).toBeGreaterThan(Number(ahead) + 64);
    await holder.done(2);
    const left = await redis.pttl(hash);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(window + 1);
  });

  test('rule 7: a writer that is gone does not stand in the way of readers, although a reader holds', async () => {
    const [reader, writer, next] = await three();
    await reader.acquire(1, { terms: 'r' });
    await writer.acquire(1);
    await silence(writer);
    expect((await next.acquire(1, { terms: 'r' })).granted).toMatch(/ 1$/);
  });

  test('rule 7: requests of clients that are gone do not count for maxQueue', async () => {
    const [, dead, next] = await line();
    await dead.acquireAll(1, 2, 3);
    await silence(dead);
    expect((await next.acquire(1, { most: '3' })).answers).toEqual(['full 3']);
    await pause(251);
    expect((await next.acquire(1, { most: '3' })).answers[0]).toMatch(/^line \d+ 0$/);
  });

  test('rule 7: requests of a client that has not called within its window leave the queue while the lock is held', async () => {
    const [holder, next] = await three();
    const dead = await client({ window: 100 });
    await holder.acquire(1);
    await dead.acquireAll(1, 2, 3);
    await next.acquire(1);
    await next.beat([], [1]);
    expect(await redis.zcard(holder.keys[1])).toBe(4);
    await pause(101);
    await next.beat([], [1]);
    expect(await redis.zcard(holder.keys[1])).toBe(1);
    expect(await redis.zrange(holder.keys[2], 0, '-1')).toEqual([next.id]);
  });

  test('rule 10: every key has a time to live, and the hash outlives the longest lease', async () => {
    const [holder, waiter] = [await client({ lease: 100_000 }), await client()];
    await holder.acquire(1);
    await waiter.acquire(1, { terms: 'f5' });
    await waiter.beat([], [1]);
    const [hash, queue, clients] = await Promise.all(holder.keys.map((key) => redis.pttl(key)));
    expect(hash).toBeGreaterThan(99_000);
    for (const left of [queue, clients]) expect(left).toBeGreaterThanOrEqual(2 * TIMES.window - 1_000);
  });

  test('rule 10: a queue that empties while several requests join it has a time to live', async () => {
    const [one] = await three();
    const { answers } = await one.join([
      { sequence: 1, terms: 'r', most: '0' },
      { sequence: 2, terms: 'r', most: '0' },
      { sequence: 3, most: '5' },
    ]);
    expect(answers).toEqual(['granted', 'granted', expect.stringMatching(/^line /)]);
    for (const key of one.keys) expect(await redis.pttl(key)).toBeGreaterThan(0);
  });

  test('rule 10: while a client waits, the list of the waiting clients lives, however long the queue does', async () => {
    const [holder, waiter] = await line(1);
    await redis.pexpire(holder.keys[2], 1_000);
    await waiter.beat([], [1]);
    expect(await redis.pttl(holder.keys[2])).toBeGreaterThanOrEqual(2 * TIMES.window - 1_000);
  });

  test('rule 10: clients that a stopped script left without a time to live have one after the next done', async () => {
    const [holder, next] = await line();
    await redis.zadd(holder.keys[2], Date.now(), next.id);
    await next.done(1, ':label');
    expect(await redis.pttl(holder.keys[2])).toBeGreaterThan(0);
  });

  test('rule 10: a lock that was waited for leaves no key when it is free', async () => {
    const [holder, next] = await line(1);
    await holder.done(1);
    await next.done(1, ':label');
    expect(await redis.exists(...holder.keys)).toBe(0);
  });

  test('rule 10: a lock that is never idle forgets the clients that are gone', async () => {
    const [holder, waiter, another] = await line(1);
    await redis.zadd(holder.keys[2], Date.now() - 60_000, 'gone');
    await another.acquire(1);
    const left = await redis.zrange(holder.keys[2], '-inf', '+inf', 'BYSCORE');
    expect(left.sort()).toEqual([waiter.id, another.id].sort());
  });

  test('rule 10: what is held is renewed and released while memory is full, and its lock is passed on', async () => {
    const server = await startRedisServer();
    const full = new Redis(server.url, { disconnectTimeout: 50 });
    try {
      const [holder, waiter] = [new Client(full, prefix), await new Client(full, prefix).listen()];
      clients.push(waiter);
      await holder.acquire(1);
      await waiter.acquire(1);
      await full.config('SET', 'maxmemory', '1');
      await expect(holder.acquire(2)).rejects.toThrow(/OOM/);
      expect((await holder.beat([1])).answers[0]).toMatch(/^held /);
      await holder.done(2, ':label');
      await holder.done(1);
      await message(waiter);
    } finally {
      full.disconnect();
      await server.stop();
    }
  });

  test.each([
    ['3 new', /^FORMAT 3 2/],
    ['x', /^PROTOCOL /],
    ['2 x write 1 - 1795807495109', /^PROTOCOL /],
    ['2 1795807495109123 write 1 - -', /^PROTOCOL /],
  ])(
    'data that it cannot read, such as the format %j, is left as it is, and the caller is told',
    async (format, error) => {
      const [, one] = await line();
      await redis.hset(one.keys[0], { format });
      const before = await redis.hgetall(one.keys[0]);
      await expect(one.acquire(1)).rejects.toThrow(error);
      await expect(one.done(1, ':label')).rejects.toThrow(error);
      expect(await redis.hgetall(one.keys[0])).toEqual(before);
    },
  );
});
