import { InProcessClients } from '../support/in-process-client.js';
import { startRedisServer, uniquePrefix } from '../support/redis.js';
import { Stopwatch } from '../support/stopwatch.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const COMMAND_TIMEOUT = 3_000;
/** Each way, ms: a round trip takes more than a third of the command timeout. */
const DELAY = 600;

test('the first request of a client is served where a round trip takes more than a third of commandTimeout', async () => {
  const server = await startRedisServer();
  const proxy = await TcpProxy.start(server.url);
  const times = { lease: 30_000, livenessWindow: 30_000, commandTimeout: COMMAND_TIMEOUT };
  const clients = new InProcessClients(uniquePrefix(), times);
  try {
    proxy.disturb({ delay: DELAY });
    const { service } = await clients.start(proxy.url);
    const watch = new Stopwatch();
    const lock = await service.acquire('a');
    // By one command, which carries the script's text and a deadline that the server can judge.
    expect(watch.stop()).toBeLessThan(COMMAND_TIMEOUT);
    await lock.release();
  } finally {
    await clients.close();
    await proxy.close();
    await server.stop();
  }
});
