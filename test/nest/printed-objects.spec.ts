import { readFileSync } from 'node:fs';
import { format, inspect } from 'node:util';
import { jest } from '@jest/globals';
import { ConsoleLogger, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import * as main from 'nestjs-fair-lock';
import * as board from 'nestjs-fair-lock/board';
import * as otel from 'nestjs-fair-lock/otel';
import * as prometheus from 'nestjs-fair-lock/prometheus';
import * as standalone from 'nestjs-fair-lock/standalone';
import * as terminus from 'nestjs-fair-lock/terminus';
import * as testing from 'nestjs-fair-lock/testing';
import { Registry } from 'prom-client';
import { RegisteredModule } from '../../lib/nest/module/fair-lock.module.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { abortsOf, eventually, SOON } from '../support/waiting.js';

const ENTRIES = { '.': main, board, otel, prometheus, standalone, terminus, testing };
const PASSWORD = 'a-secret-in-the-options';

const Keyed = main.FairLockInterceptor.for('tenant:<params.id>');

@Injectable()
class Orders {
  @main.FairLocked('order:<0>')
  async pay(id: string): Promise<string> {
    return Promise.resolve(id);
  }
}

let admin: Redis;
const user = uniquePrefix();
beforeAll(async () => {
  admin = new Redis(redisUrl());
  await admin.call('ACL', 'SETUSER', user, 'on', `>${PASSWORD}`, '~*', '&*', '+@all');
});
afterAll(async () => {
  await admin.call('ACL', 'DELUSER', user);
  admin.disconnect();
});

/** What a logger of Nest writes, and what `%o`, `inspect` and JSON make of an object. */
function printed(object: unknown): string[] {
  const chunks: string[] = [];
  const write = jest
    .spyOn(process.stdout, 'write')
    .mockImplementation((chunk) => chunks.push(String(chunk)) > 0);
  try {
    new ConsoleLogger({ colors: false }).log(object);
    new ConsoleLogger({ json: true, colors: false }).log(object);
  } finally {
    write.mockRestore();
  }
  return [
    ...chunks,
    format('%o', object),
    inspect(object, { depth: 9, showHidden: true }),
    JSON.stringify(object),
  ];
}

test('what is printed of the objects of this package is short and without the password of Redis, for an object of every exported class', async () => {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as { exports: object };
  expect(Object.keys(exports).map((path) => path.replace('./', ''))).toEqual([
    ...Object.keys(ENTRIES),
    'package.json',
  ]);
  const url = new URL(redisUrl());
  Object.assign(url, { username: user, password: PASSWORD });
  const options = { redis: url.href, keyPrefix: uniquePrefix() };
  @Module({
    imports: [
      main.FairLockModule.forRoot(options),
      board.FairLockBoardModule.forRoot({ unguarded: true }),
      prometheus.FairLockPrometheusModule.forRoot({ registry: new Registry() }),
      terminus.FairLockTerminusModule,
      testing.FairLockTestingModule.forRoot({ name: 'tested' }),
    ],
    providers: [Orders, Keyed, main.FairLockFilter],
  })
  class AppModule {}
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const locks = app.get(main.FairLockService);
  const alone = await standalone.createFairLock(options);
  const lock = await locks.acquire('a');
  const several = await locks.acquire(['b', 'c']);
  const leadership = locks.lead('d', ({ signal }) => abortsOf(signal));
  await eventually(() => Promise.resolve(leadership.isLeader), SOON, 'the term');
  const probe = app.get<testing.FairLockProbe>(testing.getFairLockProbeToken('tested'), { strict: false });
  const ofExports = [
    locks,
    probe,
    app.get(Keyed),
    app.get(main.FairLockFilter),
    new main.FairLockModule(),
    app.get(RegisteredModule),
    app.get(board.FairLockBoardModule),
    app.get(prometheus.FairLockPrometheusModule),
    app.get(terminus.FairLockTerminusModule),
    app.get(terminus.FairLockHealthIndicator, { strict: false }),
    new testing.FairLockTestingModule(),
  ];
  const classes = Object.values(ENTRIES)
    .flatMap((entry): unknown[] => Object.values(entry))
    .filter((exported) => typeof exported === 'function' && /^class\b/.test(exported.toString()))
    .filter((type) => !((type as { prototype: object }).prototype instanceof Error));
  expect(classes.length).toBeGreaterThan(8);
  for (const type of classes as (new () => unknown)[]) {
    expect([type.name, ofExports.some((object) => object instanceof type)]).toEqual([type.name, true]);
  }
  const held = await probe.hold('e');
  for (const object of [...ofExports, alone, lock, several, leadership, held, app.get(Orders)]) {
    for (const text of printed(object)) {
      expect(text).not.toContain(PASSWORD);
      expect(text.length).toBeLessThan(1_000);
    }
  }
  const { token } = lock;
  expect(inspect(lock)).toBe(`FairLock { keys: [ 'a' ], tokens: { a: ${token} }, state: 'held' }`);
  expect(JSON.parse(JSON.stringify({ lock, leadership, locks }))).toEqual({
    lock: { keys: ['a'], tokens: { a: token }, state: 'held' },
    leadership: { key: 'd', state: 'leading' },
    locks: { held: expect.any(Number) as number, closed: false },
  });
  await Promise.all([lock, several, held].map((each) => each.release()));
  await alone.close();
  await app.close();
});
