/**
 * A Redis for the tests and the demo, which no package finds in all of these places: REDIS_URL, else the program that REDIS_SERVER names, else a redis-server of
 * this machine, else a container, else a redis-server that is installed, if allowed. (`redis-memory-server` compiles its own.)
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { startRedisServer } from './redis-server.mjs';

export { presentBinary, redisServerBinary } from './redis-binary.mjs';
export { freePort, startRedisServer } from './redis-server.mjs';

const PING_TIMEOUT = 2_000;

export async function findRedis() {
  return (await fromEnvironment()) ?? (await aServerOfOnesOwn());
}

async function fromEnvironment() {
  const url = process.env.REDIS_URL;
  if (!url) return undefined;
  const { protocol, hostname, port } = new URL(url);
  // A TLS server is believed: the client that uses it has the certificates, this one has not.
  if (protocol === 'redis:' && !(await answersPing({ host: hostname, port: Number(port || 6379) }))) {
    throw new Error(`REDIS_URL is set, but no Redis answers at ${hostname}:${port || 6379}.`);
  }
  return { url, source: 'REDIS_URL', stop: async () => {} };
}

async function aServerOfOnesOwn() {
  try {
    const server = await startRedisServer();
    return { url: server.url, source: server.source, stop: () => server.stop() };
  } catch (error) {
    throw new Error(`No Redis to be had: REDIS_URL is not set. ${error.message}`, { cause: error });
  }
}

/** Any reply counts, also "NOAUTH": there is a server, and it is up. */
async function answersPing({ host, port }) {
  const socket = connect({ host, port });
  const timer = setTimeout(() => socket.destroy(new Error('no answer')), PING_TIMEOUT);
  try {
    socket.write('PING\r\n');
    await once(socket, 'data');
    return true;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
    socket.on('error', () => {}).destroy();
  }
}
