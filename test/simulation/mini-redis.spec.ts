import { Redis } from 'ioredis';
import { startRedisServer, uniquePrefix, type RedisServer } from '../support/redis.js';
import { MiniRedis } from './mini-redis/mini-redis.js';
import { RedisError, Status } from './mini-redis/reply.js';
import { Random } from './world/random.js';

const SEQUENCES = 60;
const COMMANDS = 80;

/** A reply of either server in one form: errors by their text up to where Redis adds the script's line. */
function plain(reply: unknown): unknown {
  if (reply instanceof Error) return `error ${reply.message.replace(/ script: .*$/, '')}`;
  if (reply instanceof RedisError) return `error ${reply.text}`;
  if (reply instanceof Status) return reply.text;
  return Array.isArray(reply) ? reply.map(plain) : reply;
}

/** HSCAN promises no order: field by field. */
function sorted(name: string, reply: unknown): unknown {
  if (name !== 'HSCAN' || !Array.isArray(reply)) return reply;
  const [cursor, page] = reply as [string, string[]];
  return [cursor, page.flatMap((field, i) => (i % 2 === 0 ? [[field, page[i + 1]]] : [])).sort()];
}

describe('the Redis of the simulation answers as a real one', () => {
  let server: RedisServer;
  let redis: Redis;
  let mini: MiniRedis;
  let prefix: string;

  beforeAll(async () => {
    server = await startRedisServer();
    // As scripts see replies.
    redis = new Redis(server.url, { protocol: 2 });
  });
  beforeEach(() => {
    prefix = uniquePrefix();
    mini = new MiniRedis(() => Date.now() * 1000, 'a'.repeat(40));
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  const onBoth = async (name: string, args: string[]): Promise<[unknown, unknown]> => {
    const real = await redis.call(name, ...args).catch((error: unknown) => error);
    return [plain(mini.execute(name, args)), plain(real)];
  };

  const key = (random: Random): string => `${prefix}:${random.int(1, 4)}`;
  const member = (random: Random): string =>
    random.pick(['a', 'b', 'B', 'ab', 'é', '', '10', '9', 'x:1', 'x:10']);
  const score = (random: Random): string =>
    random.pick([
      '0',
      '1',
      '2',
      '-1',
      '1.5',
      '1760000000123456',
      '1e3',
      'inf',
      '-inf',
      '007',
      '',
      'x',
      ' 1',
      '3.25',
    ]);
  const bound = (random: Random): string =>
    random.pick(['0', '1', '(1', '1.5', '(2', '-1', '-inf', 'inf', '(inf', '1760000000123456', 'x', '(x']);
  const rank = (random: Random): string =>
    random.pick(['0', '1', '2', '-1', '-2', '5', '-9', '100', 'x', '1.0', '01']);
  const value = (random: Random): string => random.pick(['', 'v', '12', 'a b', 'ü', '1760000000123456']);

  /** Each command with arguments of all kinds, among them too few and of the wrong type. */
  const COMMON: readonly ((random: Random) => string[])[] = [
    (random) => ['HSET', key(random), member(random), value(random)],
    (random) => ['HSET', key(random), member(random), value(random), member(random), value(random)],
    (random) => ['HSET', key(random), member(random), value(random), member(random)],
    (random) => ['HGET', key(random), member(random)],
    (random) => ['HMGET', key(random), member(random), member(random), member(random)],
    (random) => ['HDEL', key(random), member(random), member(random)],
    (random) => ['HEXISTS', key(random), member(random)],
    (random) => ['HLEN', key(random)],
    (random) => ['HSCAN', key(random), '0', 'MATCH', random.pick(['x:*', 'none*']), 'COUNT', '1000'],
    (random) => ['ZADD', key(random), score(random), member(random)],
    (random) => ['ZADD', key(random), score(random), member(random), score(random), member(random)],
    (random) => ['ZADD', key(random), random.pick(['XX', 'xx', 'LT']), score(random), member(random)],
    (random) => ['ZADD', key(random), 'XX', 'LT', score(random), member(random)],
    (random) => ['ZREM', key(random), member(random), member(random)],
    (random) => ['ZREMRANGEBYSCORE', key(random), bound(random), bound(random)],
    (random) => ['ZCARD', key(random)],
    (random) => ['ZSCORE', key(random), member(random)],
    (random) => ['ZRANK', key(random), member(random)],
    (random) => ['ZRANGE', key(random), rank(random), rank(random)],
    (random) => ['ZRANGE', key(random), rank(random), rank(random), 'WITHSCORES'],
    (random) => ['ZREVRANGE', key(random), rank(random), rank(random), 'withscores'],
    (random) => ['ZREVRANGE', key(random), rank(random), rank(random)],
    (random) => ['DEL', key(random)],
    (random) => ['EXISTS', key(random), key(random)],
    (random) => ['PEXPIRE', key(random), random.pick(['100000', '-1', '0', '1.5', 'x', '3600000'])],
    () => ['PTTL', `${prefix}:none`],
    () => ['PUBSUB', 'NUMSUB', `${prefix}:unsubscribed`],
    (random) => ['PUBLISH', `${prefix}:unsubscribed`, value(random)],
    (random) => [random.pick(['HGET', 'ZADD', 'PEXPIRE', 'ZRANGE']), key(random)],
  ];

  test(`to ${SEQUENCES * COMMANDS} random commands, directly and from Lua`, async () => {
    for (let seed = 1; seed <= SEQUENCES; seed++) {
      const random = new Random(seed);
      await redis.del([1, 2, 3, 4].map((i) => `${prefix}:${i}`));
      mini.execute('FLUSHALL', []);
      for (let i = 0; i < COMMANDS; i++) {
        const [name = '', ...args] = random.pick(COMMON)(random);
        const [ours, theirs] = random.chance(0.5)
          ? await onBoth(name, args)
          : await onBoth('EVAL', ['return redis.pcall(unpack(ARGV))', '0', name, ...args]);
        const at = { seed, i, name, args };
        expect({ ...at, reply: sorted(name, ours) }).toEqual({ ...at, reply: sorted(name, theirs) });
      }
    }
  });

  test('about when a key expires', async () => {
    const random = new Random(1);
    for (let i = 0; i < 40; i++) {
      const ttl = random.int(1, 3) * 20_000;
      for (const [name, ...args] of [
        ['HSET', `${prefix}:1`, 'f', String(i)],
        ['PEXPIRE', `${prefix}:1`, String(ttl)],
        ['ZADD', `${prefix}:2`, '1', 'm'],
      ] as [string, ...string[]][]) {
        await onBoth(name, args);
      }
      const [[ours, theirs], bare] = [
        await onBoth('PTTL', [`${prefix}:1`]),
        await onBoth('PTTL', [`${prefix}:2`]),
      ];
      // The two clocks are read a round trip apart.
      expect(Math.abs(Number(ours) - Number(theirs))).toBeLessThan(2_000);
      expect(bare).toEqual([-1, -1]);
      if (random.chance(0.3)) expect(await onBoth('HDEL', [`${prefix}:1`, 'f'])).toEqual([1, 1]);
    }
  });

  /** Lua 5.1 against fengari's 5.3: numbers, texts, patterns, tables, and what becomes of them in a reply. */
  const SNIPPETS = [
    'return 1760000000123456',
    "return '' .. 1760000000123",
    "return '' .. 1760000000123456",
    "return '' .. 3.0 .. ' ' .. 3.25 .. ' ' .. -0.5 .. ' ' .. 1e20 .. ' ' .. 1e-7",
    'return tostring(10 / 2) .. tostring(2^53) .. tostring(7 / 3)',
    "return string.format('%.0f', 1760000000123456)",
    "return string.format('%.0f %s %d', '1760000000123456', 12, 3)",
    "return '1760000000' * 1000000 + '123456'",
    "return tostring('1760000000' * 1000 + math.floor('123456' / 1000))",
    "return { tonumber('12'), tonumber(' 12 '), tonumber('1e3'), tonumber('0x10'), tonumber('-4') }",
    "return { tostring(tonumber('')), tostring(tonumber('x')), tostring(tonumber('12a')), tostring(tonumber(nil)), tostring(tonumber(false)) }",
    'return { 1, 2, nil, 4 }',
    'return { 3.99, -3.99, 0.5 }',
    'return { true, false }',
    'return true',
    'return false',
    'return nil',
    "return { ok = 'FINE' }",
    "return { err = 'BAD it is' }",
    'return {}',
    "return { 'a', { 'b', { 'c' } }, 1 }",
    'return { math.floor(2.5), math.floor(-2.5), math.max(1, 2.5), math.min(3, 2), math.abs(-3), math.huge > 1 }',
    "local a, b, c = string.match('12 x 3 host/1', '^(%d+) (%S+) (.*)$') return { a, b, c }",
    "local _, _, s, f = string.find('ab:12:', '^[^:]+:(%d+):?(%d*)$') return { s, f }",
    "return { string.gsub('1,2,3', ',', '') }",
    "return { string.find(',1,2,', ',2,', 1, true) }",
    "local t = {} for a, b in string.gmatch('1 x 2 y', '(%d+) (%S+)') do t[#t + 1] = b .. a end return t",
    "return { string.sub('hello', 2, -2), #'hello', string.len('é'), string.rep('a', 3), string.lower('A') }",
    "local t = { 3, 1, 2 } table.sort(t) t[#t + 1] = 9 table.remove(t, 1) return { #t, table.concat(t, ','), unpack(t) }",
    "return table.concat({ 1, 2.5, 'x', 1760000000123 }, '/')",
    "return { select('#', 1, nil, 3), (select(2, 'a', 'b')) }",
    'local t = {} for i = 1, 5, 2 do t[i] = i end return { tostring(t[3]), tostring(t[2]), type(t[1]) }',
    "local t = { [1] = 'a', [2.0] = 'b' } t['1'] = 'c' return { t[1], t[2], t['1'] }",
    "return { tostring(nil), type(nil), type(1), type('x'), type({}), type(tostring) }",
    'return { 5 % 3, -5 % 3, 2 ^ 3, 7 / 2 }',
    "return tostring(1 == 1.0) .. tostring('1' == 1) .. tostring(1 < 1.5)",
    "return redis.call('HMGET', KEYS[1], 'a', 'b')",
    "return type(redis.call('HGET', KEYS[1], 'a'))",
    "return redis.pcall('ZADD', KEYS[1], 'x', 'y').err",
    "return redis.call('ZADD', KEYS[1], 1.5, 3)",
    "redis.call('ZADD', KEYS[1], 1760000000123456, 'm') return redis.call('ZSCORE', KEYS[1], 'm') + 1",
    "redis.call('HSET', KEYS[1], 'f', 1760000000123456, 'g', 0.1, 'h', 10 / 2) return redis.call('HMGET', KEYS[1], 'f', 'g', 'h')",
    "return redis.call('PEXPIRE', KEYS[1], 100000 / 2)",
    "return redis.pcall('PEXPIRE', KEYS[1], 0.5).err",
  ];

  test.each(SNIPPETS)('to the Lua %s', async (source) => {
    await redis.del(prefix);
    const [ours, theirs] = await onBoth('EVAL', [source, '1', prefix]);
    expect(ours).toEqual(theirs);
  });

  test.each([
    'return undefined_name',
    'oops = 1',
    'local x = nil return x.y',
    "return redis.call('GET')",
    'return {',
  ])('with an error to the Lua %s', async (source) => {
    const [ours, theirs] = await onBoth('EVAL', [source, '0']);
    expect([String(ours).slice(0, 6), String(theirs).slice(0, 6)]).toEqual(['error ', 'error ']);
  });

  test('with NOSCRIPT to a script that it does not know, and knows it after EVAL', async () => {
    const source = `return '${prefix}'`;
    const sha = '0123456789012345678901234567890123456789';
    expect(await onBoth('EVALSHA', [sha, '0'])).toEqual([
      expect.stringContaining('NOSCRIPT'),
      expect.stringContaining('NOSCRIPT'),
    ]);
    await onBoth('EVAL', [source, '0']);
    const known = String(await redis.script('LOAD', source));
    expect(await onBoth('EVALSHA', [known, '0'])).toEqual([prefix, prefix]);
  });

  test('when memory is full: what grows is refused until the script has written', async () => {
    await onBoth('HSET', [`${prefix}:h`, 'f', 'v']);
    await redis.config('SET', 'maxmemory', '1');
    mini.memoryFull = true;
    try {
      const eager = "redis.call('HSET', KEYS[1], 'f', 'w') return 1";
      const patient = "redis.call('PEXPIRE', KEYS[1], 60000) redis.call('HSET', KEYS[1], 'f', 'w') return 1";
      const [refused, refusedThere] = await onBoth('EVAL', [eager, '1', `${prefix}:h`]);
      expect([String(refused).slice(0, 9), String(refusedThere).slice(0, 9)]).toEqual([
        'error OOM',
        'error OOM',
      ]);
      expect(await onBoth('EVAL', [patient, '1', `${prefix}:h`])).toEqual([1, 1]);
      expect(await onBoth('HDEL', [`${prefix}:h`, 'f'])).toEqual([1, 1]);
    } finally {
      await redis.config('SET', 'maxmemory', '0');
    }
  });
});
