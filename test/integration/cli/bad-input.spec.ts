import { Redis } from 'ioredis';
import { freePort, redisUrl, startRedisServer, uniquePrefix, type RedisServer } from '../../support/redis.js';
import { SOON } from '../../support/waiting.js';
import { documentedAcl } from '../../topologies/documented-acl.js';
import { Peers, runCli } from './cli-process.js';

const PASSWORD = 'correct-horse-battery';

test.each([
  [['lst'], /Unknown command "lst".*ls, inspect/],
  [['inspect'], /inspect needs the key/],
  [['inspect', ''], /inspect needs the key/],
  [['inspect', 'a', 'b'], /"b" is one argument too many/],
  [['ls', '--nope'], /Unknown option '--nope'\.$/m],
  [['ls', '--count', '3'], /--count is an option of watch, not of ls/],
  [['inspect', 'a', '--orphans'], /--orphans is an option of ls and watch, not of inspect/],
  [['ls', '--timeout', '-3'], /'--timeout' argument is ambiguous\.$/m],
  [['ls', '--timeout', 'soon'], /--timeout must be a whole number/],
  [['ls', '--timeout', '2147483648'], /--timeout must be a whole number from 1 to 2147483647/],
  [['ls', '--store', 'memory'], /--store must be redis or redisson/],
  [['ls', '--redis', `nonsense:${PASSWORD}`], /--redis \(or REDIS_URL\) must be a redis:\/\/ or/],
  [['ls', `redis://:${PASSWORD}@web-1`], /"redis:\/\/…@web-1" is one argument too many/],
  [[`redis://:${PASSWORD}@web-1`], /Unknown command "redis:\/\/…@web-1"/],
  [[`--redis://:${PASSWORD}@web-1`], /Unknown option '--redis:\/\/…@web-1'/],
  [['watch', '--count', `redis://:${PASSWORD}@web-1`], /--count must be a whole number/],
  [['ls', '--redis', `redis://:${PASSWORD}@localhost/locks`], /must be a redis:\/\/ or/],
  [['ls', '--prefix', 'a{b'], /keyPrefix.*braces/],
  [['ls', '--prefix', 'a', '--store', 'redisson'], /keyPrefix is not for store: 'redisson'/],
  [['ls', '--prefix', ''], /keyPrefix must be a non-empty string/],
  [['ls', '--cluster', '--redis', '/run/redis.sock'], /--cluster needs the redis:\/\/ or rediss:\/\/ URL/],
  [
    ['force-release', 'a', '--token', '9007199254740993'],
    /--token must be a whole number from 1 to 9007199254740991/,
  ],
  [['force-release', 'a', '--token', '1', '--store', 'redisson'], /no fencing token: use --holder/],
])('%j is refused with a sentence and the status 2', async (args, sentence) => {
  const { status, out, err } = await runCli(redisUrl(), ...args);
  expect({ status, out }).toEqual({ status: 2, out: '' });
  expect(err).toMatch(sentence);
  expect(err).not.toMatch(/\bat .*:\d+|correct-horse/);
});

test('without a command it shows the help, and --version the version', async () => {
  const help = await runCli(redisUrl());
  expect(help).toEqual({ status: 0, out: expect.stringContaining('EXIT STATUS') as string, err: '' });
  expect((await runCli(redisUrl(), '--version')).out).toMatch(/^\d+\.\d+\.\d+/);
});

test.each([
  ['ls'],
  ['ls', '--json'],
  ['inspect', 'a'],
  ['watch', '--count', '1'],
  ['doctor'],
  ['doctor', '--json'],
])('%s %s says that Redis cannot be reached, and why, with the status 4', async (...command) => {
  const away = `redis://user:${PASSWORD}@127.0.0.1:${await freePort()}`;
  const { status, out, err } = await runCli(away, ...command);
  expect(status).toBe(4);
  expect(err).toMatch(
    /^nestjs-fair-lock: Redis did not respond within 1000 ms \(connect ECONNREFUSED 127[\d.:]+\)\. Nothing listens there\. Check --redis/,
  );
  if (command.includes('--json')) expect(err).toContain((JSON.parse(out) as { error: string }).error);
  else expect(out).toBe('');
  expect(err).not.toContain(PASSWORD);
});

describe('of a server that limits its users', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.stop());

  /** The command line as a user with this password. */
  const cliAs = (user: string, password: string, command: string) =>
    runCli(server.url.replace('://', `://${user}:${password}@`), command);

  test('a password that Redis refuses is not printed', async () => {
    const { status, out, err } = await cliAs('stranger', PASSWORD, 'ls');
    expect(status).toBe(4);
    expect(err).toMatch(/credentials|WRONGPASS|NOAUTH/);
    expect(out + err).not.toContain(PASSWORD);
  });

  test.each([
    ['doctor', 1],
    ['ls', 0],
  ])('%s names the rights that the user lacks', async (command, expected) => {
    const rules = `on >${PASSWORD} ~* &* +@all -zadd -pubsub`.split(' ');
    await server.command('acl', 'setuser', 'few', ...rules);
    const { status, out, err } = await cliAs('few', PASSWORD, command);
    expect(status).toBe(expected);
    expect(out + err).toMatch(
      /^(- |nestjs-fair-lock: )The Redis user lacks permissions that the lock needs: .*\+zadd/m,
    );
    expect(out + err).not.toContain(PASSWORD);
  });

  test('doctor checks the rest where the user may not look for locks of dead processes', async () => {
    await server.command('acl', ...documentedAcl().user);
    const { status, out, err } = await cliAs('lock', 'secret', 'doctor');
    expect({ status, err }).toEqual({ status: 1, err: '' });
    expect(out).toMatch(
      /^- problem: Locks that no process reports may be missing: the Redis user lacks \+scan\.$/m,
    );
  });
});

test('a node that is in no Cluster is named as a reason, with --cluster', async () => {
  const { status, err } = await runCli(redisUrl(), 'ls', '--cluster');
  expect(status).toBe(4);
  expect(err).toMatch(
    /Check --redis \(or REDIS_URL\), and that it is a node of a Redis Cluster \(--cluster\)\.$/m,
  );
});

describe('where no process uses the prefix', () => {
  const used = uniquePrefix();
  const peers = new Peers(used);
  beforeAll(() => peers.start('order:1'));
  afterAll(() => peers.kill());

  test.each([
    ['ls', 0, ['ls']],
    ['doctor', 1, ['doctor']],
    ['inspect', 3, ['inspect', 'order:1']],
    ['force-release', 3, ['force-release', 'order:1', '--token', '7']],
  ])('%s says so, and which prefixes are in use', async (_, expected, args) => {
    const { status, out } = await runCli(redisUrl(), ...args, '--prefix', uniquePrefix());
    expect(status).toBe(expected);
    expect(out).toMatch(
      /No process is using these locks\. --prefix, --store and --cluster select which locks\./,
    );
    expect(out).toContain(` ${used} (database 0)`);
    expect(out).not.toMatch(/No problems|is free|the lock is free/);
  });

  test('another database of the same server is not the same place', async () => {
    const other = `${redisUrl().replace(/\/\d*$/, '')}/7`;
    const { status, out } = await runCli(other, 'doctor', '--prefix', used);
    expect(status).toBe(1);
    expect(out).toContain(`0 processes responded.\n- No process is using these locks.`);
    expect(out).toContain(` ${used} (database 0)`);
  });
});

test('a report that cannot be read is listed as a problem, and the rest is shown', async () => {
  const prefix = uniquePrefix();
  const peers = new Peers(prefix);
  const [stranger, sender] = [new Redis(redisUrl()), new Redis(redisUrl())];
  stranger.on('message', (_: string, message: string) => {
    const [kind, nonce, requester] = message.split(' ');
    if (kind === 'Q') void sender.publish(`${prefix}:client:${requester}`, `A ${nonce} stranger {"locks":7}`);
  });
  await stranger.subscribe(`${prefix}:client:stranger`, `${prefix}:client:db0`);
  await peers.start('order:1');
  const look = (command: string) =>
    runCli(redisUrl(), command, '--timeout', String(SOON), '--prefix', prefix);
  try {
    const { status, out } = await look('ls');
    expect(status).toBe(0);
    expect(out).toMatch(/^order:1 .*Peer\.hold/m);
    expect(out).toMatch(/^problem: The response of the client stranger cannot be read: /m);
    const doctor = await look('doctor');
    expect(doctor.status).toBe(1);
    expect(doctor.out).toContain('- problem: The response of the client stranger');
  } finally {
    await peers.kill();
    await Promise.all([stranger.quit(), sender.quit()]);
  }
});
