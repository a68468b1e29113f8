/**
 * What docs/troubleshooting.md quotes from the log is printed in this run, line by line: for each cause, something goes wrong here on a
 * real server. A printed line leads to the heading under which the page quotes it. In a quoted line, `…` stands for anything.
 */
import { once } from 'node:events';
import { Controller, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  type CallOptions,
  FairLockModule,
  type FairLockModuleOptions,
  FairLockService,
  LockNotReplicatedError,
  LockProtocolError,
  LockQueueFullError,
  LockShuttingDownError,
  LockTimeoutError,
} from 'nestjs-fair-lock';
import { createFairLock, type StandaloneFairLock } from 'nestjs-fair-lock/standalone';
import { crash, Peers } from '../integration/cli/cli-process.js';
import { startRedisServer, type RedisServer, uniquePrefix } from '../support/redis.js';
import { waiting } from '../support/requests.js';
import { block, eventually, pause, SOON } from '../support/waiting.js';
import { fragmentsOf, textOf } from './pages.js';

const PAGE = 'docs/troubleshooting.md';
const KEY = 'order:42';
const LABEL = 'OrdersService.pay';

/** The page from each heading to the next, by the anchor of the heading. */
const sections = new Map(
  textOf(PAGE)
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [heading = ''] = section.split('\n');
      return [
        heading
          .toLowerCase()
          .replaceAll(/[^\w\s-]/g, '')
          .replaceAll(/\s/g, '-'),
        section,
      ];
    }),
);
const linesOf = (text: string): string[] =>
  fragmentsOf(PAGE, text)
    .filter(({ words }) => words.includes('log'))
    .flatMap((fragment) => fragment.text.trim().split('\n'));
const quoted = linesOf(textOf(PAGE));

/** What a table quotes in its first column. */
const phrasesOf = (section: string): string[] =>
  [...section.matchAll(/^\| ([^|]*"[^|]*) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/"([^"]+)"/g)].map(([, phrase = '']) => phrase),
  );

/** Lines that need more than this run to come about; `reference.spec` finds in the sources that they are on the page. */
const ELSEWHERE = 'other-lines-of-the-log';

/** A line without what differs from run to run: figures, and the process and method of a client. */
const withoutChance = (line: string): string =>
  line
    .replaceAll(/[\w.-]+\/\d+(?:\/[\w.]+)?/g, '<client>')
    .replaceAll(/127\.0\.0\.1:\d+/g, '<address>')
    .replaceAll(/(?<=["(\s-])\d+(?:\.\d+)?(?: m?s\b)?/g, '#');

/** Whether a line is as the page quotes it. */
function isQuotedAs(quote: string, line: string): boolean {
  const pattern = withoutChance(quote)
    .replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll('…', '.*');
  return new RegExp(`^${pattern}$`).test(withoutChance(line));
}

const printed: string[] = [];
const open: (() => Promise<unknown>)[] = [];
class PageLogger {
  log(): void {}
  debug(): void {}
  verbose(): void {}
  warn = (message: unknown, ...rest: unknown[]): void => this.note('WARN', message, rest);
  error = (message: unknown, ...rest: unknown[]): void => this.note('ERROR', message, rest);
  private note(level: string, message: unknown, rest: unknown[]): void {
    printed.push(`${level} [${String(rest.at(-1))}] ${String(message)}`);
  }
}

/** A process without Nest says the same. */
async function start(options: FairLockModuleOptions = {}): Promise<StandaloneFairLock> {
  const locks = await createFairLock({ keyPrefix: uniquePrefix(), ...options }, (message) =>
    printed.push(`WARN [FairLock] ${message}`),
  );
  open.push(() => locks.close());
  return locks;
}

/** Does something that prints a line which begins so. */
async function prints(line: RegExp, cause: () => Promise<unknown>): Promise<void> {
  const before = printed.length;
  await cause();
  await eventually(() => printed.slice(before).some((each) => line.test(each)), SOON, String(line));
}

const giveUp = (locks: FairLockService, options: CallOptions = {}): Promise<unknown> =>
  locks.acquire(KEY, { waitTime: 100, label: LABEL, ...options }).catch((error: unknown) => error);

/**
 * Calls give up until one prints such a line. If Redis doesn't tell within 0.1 s what blocks a call, its line says less, and the page does not
 * quote that.
 *
 * @param cause gets a new client each time: a client prints one such line in ten seconds
 */
async function givesUp(
  line: RegExp,
  options: FairLockModuleOptions,
  cause: (locks: FairLockService) => Promise<unknown>,
): Promise<void> {
  const isPrinted = async (): Promise<boolean> => {
    const from = printed.length;
    await cause(await start(options));
    const place = (): number => printed.findIndex((each, i) => i >= from && each.includes('Gave up'));
    await eventually(() => place() >= 0, SOON, 'the line of a call that gives up');
    if (printed.some((each) => line.test(each))) return true;
    printed.splice(place(), 1);
    return false;
  };
  await eventually(isPrinted, SOON, String(line));
}

async function serverWith(config: Record<string, string> = {}): Promise<RedisServer> {
  const server = await startRedisServer({ config });
  open.push(() => server.stop());
  return server;
}

/** Another process, which holds the lock in a section. */
async function holder(keyPrefix: string) {
  const peers = new Peers(keyPrefix);
  open.push(() => peers.kill());
  return await peers.start(KEY);
}

beforeAll(async () => {
  await withoutShutdownHooks();
  await callsGiveUp();
  await losses();
  await outage();
  const isWarned = (): boolean => printed.some((line) => line.includes('listens to SIGTERM'));
  await eventually(isWarned, SOON, 'the line that comes ten seconds after the start');
  await warningsAtTheStart();
  await answers();
}, 170_000);

afterAll(async () => {
  for (const close of open.reverse()) await close();
});

async function withoutShutdownHooks(): Promise<void> {
  const { NODE_ENV } = process.env;
  process.env.NODE_ENV = 'production'; // where it warns
  @Module({ imports: [FairLockModule.forRoot({ keyPrefix: uniquePrefix() })] })
  class App {}
  const app = await NestFactory.createApplicationContext(App, { logger: new PageLogger() });
  open.push(() => app.close());
  process.env.NODE_ENV = NODE_ENV;
}

async function callsGiveUp(): Promise<void> {
  const held = { keyPrefix: uniquePrefix(), slowWait: 200 };
  const other = await holder(held.keyPrefix);
  await givesUp(/Gave up .*The holder may be slow, stuck or dead/, held, (locks) => giveUp(locks));
  await givesUp(/If the holder waits for that/, held, (locks) =>
    locks.withLock('other', () => giveUp(locks)),
  );
  await givesUp(/has waited for .*held by .*\. See/, held, (locks) => giveUp(locks, { waitTime: 2_000 }));

  const orphaned = { keyPrefix: uniquePrefix(), slowWait: 200 };
  await crash(await holder(orphaned.keyPrefix));
  await givesUp(/Gave up .*its lease ends/, orphaned, (locks) => giveUp(locks, { waitTime: 1_000 }));
  await eventually(
    () => printed.some((line) => /has waited for.*process is gone/.test(line)),
    SOON,
    'slow wait',
  );
  await crash(other);

  await givesUp(/Gave up .*handed on meanwhile/, {}, async (locks) => {
    const calls = Array.from({ length: 30 }, () => locks.withLock(KEY, () => pause(30), { label: LABEL }));
    await giveUp(locks, { waitTime: 500 });
    await Promise.all(calls);
  });
  await givesUp(/This process already holds it/, {}, async (locks) => {
    const lock = await locks.acquire(KEY, { label: LABEL });
    await giveUp(locks);
    await lock.release();
  });
  await givesUp(/kept for another/, {}, async (locks) => {
    await locks.withLock(KEY, () => Promise.resolve(), { holdAtLeast: 5_000, label: LABEL });
    await giveUp(locks);
  });

  const slow = await start({ slowHold: 50 });
  await prints(/has been held for/, () => slow.withLock(KEY, () => pause(1_000), { label: LABEL }));
}

async function losses(): Promise<void> {
  const server = await serverWith();
  const options = { redis: server.url, watchdogTimeout: 1_500, livenessWindow: 1_000, commandTimeout: 500 };
  const locks = await start(options);
  const section =
    (code: () => unknown, more: CallOptions = {}) =>
    () =>
      locks.withLock(
        KEY,
        async (lock) => {
          await code();
          if (lock.state !== 'lost') await once(lock.signal, 'abort');
        },
        { label: LABEL, ...more },
      );
  await prints(
    /LOST: .*this process did not run/,
    section(() => block(2_000)),
  );
  await prints(
    /LOST: .*released by force/,
    section(() => locks.forceRelease(KEY)),
  );
  await prints(
    /LOST: .*no longer has its grant/,
    section(() => server.command('FLUSHALL')),
  );
  await prints(
    /LOST: .*its leaseTime/,
    section(() => undefined, { leaseTime: 300 }),
  );
  const overdue = locks.withLock(KEY, () => pause(2_500), { maxHold: 100, label: LABEL });
  await prints(/LOST: .*longer than maxHold/, () => overdue);
  const inside = () => locks.withLock(KEY, () => pause(2_500), { maxHold: 100, label: LABEL });
  await prints(/LOST: .*nested in it/, () => locks.withLock(KEY, inside));
  // A command that gets no reply is no outage yet where the connection was idle before: then another line may come first.
  const stopServer = async (): Promise<void> => {
    await locks.inspect(KEY);
    await server.kill('SIGSTOP');
    locks.inspect(KEY).catch(() => undefined);
  };
  await prints(/LOST: .*has not renewed it/, section(stopServer));
  await server.kill('SIGCONT');
}

async function outage(): Promise<void> {
  const server = await serverWith({ appendonly: 'yes', appendfsync: 'always' });
  const options = { redis: server.url, keyPrefix: uniquePrefix() };
  const locks = await start({ ...options, slowWait: 60_000 });
  const holding = await start(options);
  const lock = await holding.acquire(KEY, { label: LABEL });
  const waited = giveUp(locks, { waitTime: 12_500 });
  await waiting(locks, KEY, 1);
  await server.kill();
  await prints(/has not served locks for/, () => Promise.resolve()); // after 10 s
  await prints(/serves locks again/, () => server.restart());
  await prints(/Gave up .*did not serve locks for/, () => waited);
  await lock.release();
}

async function warningsAtTheStart(): Promise<void> {
  await start({ redis: 'redis://127.0.0.1:1' });
  const server = await serverWith({ maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' });
  await start({ redis: server.url });
  await server.command('ACL', 'SETUSER', 'clerk', 'on', '>secret', '~*', '&*', '+@all', '-evalsha');
  const address = `127.0.0.1:${server.port}`;
  await start({ redis: `redis://clerk:secret@${address}` });
  await start({ redis: `redis://clerk:wrong@${address}` });
  const { now } = Date;
  Date.now = () => now() + 5_000; // a host whose clock is wrong
  await start({ redis: server.url });
  Date.now = now;
  const replica = await serverWith({ replicaof: `127.0.0.1 ${server.port}` });
  await start({ redis: replica.url });
  const sentinel = await startRedisServer({
    args: ['--sentinel'],
    config: { sentinel: [`monitor page 127.0.0.1 ${server.port} 1`] },
  });
  open.push(() => sentinel.stop());
  const sentinels = [sentinel.port, 1].map((port) => ({ host: '127.0.0.1', port }));
  await prints(/The sentinel .* does not respond/, () => start({ redis: { name: 'page', sentinels } }));
}

/** What the next request throws. */
let thrown: () => Promise<unknown>;

@Controller()
class Answers {
  @Post()
  answer(): Promise<unknown> {
    return thrown();
  }
}

/** The bodies of answers, and what the filter and the module log. */
async function answers(): Promise<void> {
  const redis = await serverWith();
  @Module({
    imports: [FairLockModule.forRoot({ redis: redis.url, onLost: 'reject', commandTimeout: 300 })],
    controllers: [Answers],
  })
  class App {}
  const app = await NestFactory.create(App, { logger: new PageLogger() });
  open.push(() => app.close());
  const locks = app.get(FairLockService);
  await app.listen(0, '127.0.0.1');
  const ask = async (code: () => Promise<unknown>): Promise<void> => {
    thrown = code;
    printed.push(await (await fetch(await app.getUrl(), { method: 'POST' })).text());
  };
  for (const error of [
    new LockTimeoutError(KEY, 45_000),
    new LockShuttingDownError(KEY),
    new LockQueueFullError(KEY, 1),
    new LockNotReplicatedError(KEY, 0, 1, 1_000),
    new LockProtocolError('Another version keeps it.', undefined, true),
  ]) {
    await ask(() => Promise.reject(error));
  }
  await ask(() =>
    locks.withLock(KEY, async ({ signal }) => {
      await locks.forceRelease(KEY);
      if (!signal.aborted) await once(signal, 'abort');
    }),
  );
  const lock = await locks.acquire(KEY);
  await ask(() => locks.acquire(KEY, { waitTime: 0 }));
  await lock.release();
  await redis.kill();
  await eventually(() => printed.at(-1)!.includes('stopped serving'), SOON, 'the outage');
  await ask(() => locks.acquire('order:43'));
}

const phrases = [...sections].flatMap(([name, section]) => (name === ELSEWHERE ? [] : phrasesOf(section)));

test('the page quotes lines of the log', () => {
  expect(quoted.length).toBeGreaterThan(15);
  expect(phrases.length).toBeGreaterThan(20);
});

test.each(quoted)('%s is printed, as a whole', (quote) => {
  expect(printed.filter((line) => isQuotedAs(quote, line))).not.toEqual([]);
});

test.each(phrases)('%s, which stands in a table, is printed', (phrase) => {
  expect(printed.map(withoutChance).join('\n')).toContain(withoutChance(phrase));
});

test('each printed line leads to the heading under which the page quotes it', () => {
  const astray = printed
    .filter((line) => line.includes('/troubleshooting.md#'))
    .filter((line) => {
      const section = sections.get(/troubleshooting\.md#([\w-]+)\.$/.exec(line)?.[1] ?? '') ?? '';
      const whole = linesOf(section).filter((quote) => !quote.includes(': …')); // else a table has the cause
      return (
        !whole.some((quote) => isQuotedAs(quote, line)) &&
        !phrasesOf(section).some((phrase) => withoutChance(line).includes(withoutChance(phrase)))
      );
    });
  expect([...new Set(astray)]).toEqual([]);
});
