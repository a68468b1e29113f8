import { isDeepStrictEqual } from 'node:util';
import { Controller, Get, Module } from '@nestjs/common';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import { FairLockModule, FairLockService, getFairLockToken, LockConfigurationError } from 'nestjs-fair-lock';
import { FairLockHealthIndicator, FairLockTerminusModule } from 'nestjs-fair-lock/terminus';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { eventually, SOON } from '../support/waiting.js';
import { ask, webApp } from './web-app.js';
import { onNest12 } from './nest-version.js';

@Controller('ready')
class ReadyController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly locks: FairLockHealthIndicator,
  ) {}

  @Get()
  @HealthCheck()
  ready() {
    return this.health.check([() => this.locks.check('locks')]);
  }
}

@Module({ imports: [TerminusModule, FairLockTerminusModule], controllers: [ReadyController] })
class HealthModule {}

describe('the health indicator of nestjs-fair-lock/terminus', () => {
  // Terminus of Nest 11 knows no `degraded`: see test/consumer.
  onNest12('is up, degraded while no message arrives, and down while Redis is unreachable', async () => {
    const proxy = await TcpProxy.start(redisUrl());
    const lock = {
      store: 'redis',
      redis: proxy.url,
      keyPrefix: uniquePrefix(),
      commandTimeout: 1_000,
    } as const;
    const { app, url, locks } = await webApp('express', { imports: [HealthModule] }, lock);
    const health = async (): Promise<unknown[]> => {
      const { status, body } = await ask(`${url}/ready`);
      return [status, (body as { details: Record<string, { status: string }> }).details['locks']?.status];
    };
    // Asked until it is so: on a busy machine one answer may take longer than a command's limit, and 'down' is right then.
    const reports = (status: number, state: string): Promise<void> =>
      eventually(async () => isDeepStrictEqual(await health(), [status, state]), SOON, `${status} ${state}`);
    await reports(200, 'up');

    const heal = proxy.blackHole({ role: 'subscriber' });
    proxy.cut('subscriber');
    await eventually(async () => !(await locks.health()).listening, SOON, 'the break');
    await reports(200, 'degraded');
    heal();

    const away = proxy.acceptAndClose();
    proxy.cut();
    await eventually(async () => !(await locks.health()).reachable, SOON, 'the break');
    await reports(503, 'down');
    away();
    await eventually(async () => (await locks.health()).listening, SOON, 'the way back');
    await app.close();
    await proxy.close();
  });

  test('does not need a default registration if it is given a named one, and says so if it is not', async () => {
    const imports = [FairLockModule.forRoot({ name: 'billing', store: 'memory' }), FairLockTerminusModule];
    const module = await Test.createTestingModule({ imports }).compile();
    const indicator = module.get(FairLockHealthIndicator);
    const billing = module.get<FairLockService>(getFairLockToken('billing'), { strict: false });
    expect(await indicator.check('locks', billing)).toEqual({ locks: { status: 'up' } });
    const asked = indicator.check('locks');
    await expect(asked).rejects.toThrow(LockConfigurationError);
    await expect(asked).rejects.toThrow(
      /every registration of FairLockModule has a name.*check\(key, locks\)/,
    );
    await module.close();
  });
});
