import 'reflect-metadata';

const LEASE = 30_000;
const WAIT = 100;

export default {
  name: 'murlock',
  label: 'murlock',
  role: 'peer',
  crossProcess: true,
  commands: ['eval'],
  setUp: `runWithLock of 30 s in a Nest application context, blocking: true with a try every ${WAIT} ms, no logging`,

  async open({ url }) {
    const { NestFactory } = await import('@nestjs/core');
    const { MurLockModule, MurLockService } = await import('murlock');
    const module = MurLockModule.forRoot({
      redisOptions: { url },
      wait: WAIT,
      maxAttempts: 1,
      logLevel: 'none',
      blocking: true,
    });
    const app = await NestFactory.createApplicationContext(module, { logger: false });
    const murlock = app.get(MurLockService);
    return {
      /** It has no public pair of lock and unlock: the section lasts until the release. */
      lock(key) {
        return new Promise((resolve, reject) => {
          let end;
          const section = new Promise((done) => (end = done));
          const whole = murlock.runWithLock(key, LEASE, () => {
            resolve(() => {
              end();
              return whole;
            });
            return section;
          });
          whole.catch(reject);
        });
      },
      close: () => app.close(),
    };
  },
};
