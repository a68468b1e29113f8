/**
 * A Redis for the tests and the demo, which no package finds in all of these places: REDIS_URL, else the program that REDIS_SERVER names, else a container, else a
 * redis-server of this machine, installed if need be and allowed.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { startRedisServer } from './redis-server.mjs';

export { presentBinary, redisServerBinary } from './redis-binary.mjs';
export { freePort, startRedisServer } from './redis-server.mjs';

const PING_TIMEOUT = 2_000;
const IMAGE = 'redis:7.2-alpine';

export async function findRedis() {
  return (await fromEnvironment()) ?? (await fromContainer()) ?? (await fromThisMachine());
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

async function fromContainer() {
  if (process.env.REDIS_SERVER) return undefined;
  const { getContainerRuntimeClient } = await import('testcontainers');
  try {
    await getContainerRuntimeClient();
  } catch {
    return undefined; // no container runtime answers
  }
  const { RedisContainer } = await import('@testcontainers/redis');
  try {
    const container = await new RedisContainer(IMAGE).start();
    return { url: container.getConnectionUrl(), source: `container ${IMAGE}`, stop: () => container.stop() };
  } catch (error) {
    console.warn(
      `A container runtime answers, but ${IMAGE} does not start there (${error.message}); looking further.`,
    );
    return undefined;
  }
}

async function fromThisMachine() {
  try {
    const server = await startRedisServer();
    return { url: server.url, source: server.binary, stop: () => server.stop() };
  } catch (error) {
    const tried = 'REDIS_URL is not set, no container could be started';
    throw new Error(`No Redis to be had: ${tried}. ${error.message}`, { cause: error });
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
