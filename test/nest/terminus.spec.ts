import { Test } from '@nestjs/testing';
import { FairLockModule, FairLockService, getFairLockToken, LockConfigurationError } from 'nestjs-fair-lock';
import { FairLockHealthIndicator, FairLockTerminusModule } from 'nestjs-fair-lock/terminus';

describe('the health indicator of nestjs-fair-lock/terminus', () => {
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
