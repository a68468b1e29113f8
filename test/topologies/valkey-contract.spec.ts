import { describeLockStore } from '../contract/lock-store.contract.js';
import { capabilities, lineOfItsOwn } from '../contract/redis.line.js';
import { presentBinary, startRedisServer, type RedisServer } from '../support/redis.js';

const binary = presentBinary('valkey-server');

if (binary === undefined) {
  const gap = 'Valkey: NOT TESTED, there is no valkey-server on the PATH';
  // Of many files jest shows no names: the line is to stand in the output of every run that could not do it.
  process.stderr.write(`${gap}\n`);
  test.todo(gap);
} else {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedisServer({ binary });
  });
  afterAll(() => server.stop());

  describeLockStore(
    'redis store on Valkey',
    lineOfItsOwn(() => server.url),
    capabilities,
  );
}
