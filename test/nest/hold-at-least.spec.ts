import { Controller, Injectable, Post, UseInterceptors, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FairLocked, FairLockInterceptor, FairLockModule, FairLockService } from 'nestjs-fair-lock';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { playedWithoutStalls } from '../support/stopwatch.js';
import { pause } from '../support/waiting.js';
import { ask, PLATFORMS, webApp } from './web-app.js';

/** The time between two ticks of the schedule, ms. */
const PERIOD = 1_200;
const runs: string[] = [];

@Injectable()
class Jobs {
  @FairLocked('job:plain', { waitTime: 0, onTimeout: 'skip' })
  async plain(): Promise<void> {
    await this.work('plain');
  }
  @FairLocked('job:half', { waitTime: 0, onTimeout: 'skip', holdAtLeast: PERIOD / 2 })
  async half(): Promise<void> {
    await this.work('half');
  }
  @FairLocked('job:whole', { waitTime: 0, onTimeout: 'skip', holdAtLeast: PERIOD })
  async whole(): Promise<void> {
    await this.work('whole');
  }
  private async work(name: string): Promise<void> {
    runs.push(name);
    await pause(5);
  }
}

describe('a job of 5 ms on several instances, whose ticks do not come at the same moment', () => {
  const options = { redis: redisUrl(), keyPrefix: uniquePrefix(), commandTimeout: 3_000 };
  let instances: INestApplicationContext[];
  beforeAll(async () => {
    const module = { module: class {}, imports: [FairLockModule.forRoot(options)], providers: [Jobs] };
    const start = () => NestFactory.createApplicationContext(module, { logger: false });
    instances = await Promise.all([start(), start(), start()]);
  });
  afterAll(() => Promise.all(instances.map((instance) => instance.close())));

  /** Each instance ticks twice: 400 ms late and then in time, each 40 ms after the one before it. Returns how often the job ran. */
  const twoTicks = async (job: keyof Jobs): Promise<number> => {
    runs.length = 0;
    const calls = instances.flatMap((instance, i) =>
      [400, PERIOD].map(async (tick) => {
        await pause(tick + 40 * i);
        await instance.get(Jobs)[job]();
      }),
    );
    await Promise.all(calls);
    await instances[0]!.get(FairLockService).forceRelease(`job:${job}`);
    return runs.length;
  };

  test.each([
    ['runs on each of them without holdAtLeast', 'plain', 6],
    ['runs once a tick with half the period', 'half', 2],
    ['is skipped at the next tick with the whole period, where the first came a little late', 'whole', 1],
  ] as const)('%s', async (_what, job, expected) => {
    await playedWithoutStalls(30, async () => expect(await twoTicks(job)).toBe(expected));
  });
});

@Controller()
class CartController {
  @Post('carts')
  @UseInterceptors(FairLockInterceptor.for('carts', { waitTime: 0, holdAtLeast: 60_000 }))
  add(): string {
    return 'added';
  }
}

test.each(PLATFORMS)(
  'a route whose interceptor has holdAtLeast, on %s: the next caller is refused',
  async (platform) => {
    const web = await webApp(platform, { controllers: [CartController] });
    expect(await ask(`${web.url}/carts`, { method: 'POST' })).toMatchObject({ status: 201 });
    expect(await ask(`${web.url}/carts`, { method: 'POST' })).toMatchObject({ status: 423 });
    await web.app.close();
  },
);
