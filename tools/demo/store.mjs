/** The Redis in which the demo's locks and data are. */
import { Redis } from 'ioredis';
import { findRedis } from '../redis-finder.mjs';

/** @param namespace before every key of the demo */
export async function findStore(namespace) {
  const found = await findRedis();
  try {
    return {
      version: await withClient(found.url, versionOf),
      source: found.source,
      env: { REDIS_URL: found.url, NAMESPACE: namespace },
      async remove() {
        // A server of the demo's own goes as a whole.
        if (found.source === 'REDIS_URL')
          await withClient(found.url, (client) => removeKeys(client, namespace));
        await found.stop();
      },
    };
  } catch (error) {
    await found.stop();
    throw error;
  }
}

async function withClient(url, use) {
  const client = new Redis(url, { maxRetriesPerRequest: 1 });
  client.on('error', () => {}); // the command tells
  try {
    return await use(client);
  } finally {
    client.disconnect();
  }
}

async function versionOf(client) {
  const info = await client.info('server');
  const valkey = /valkey_version:(\S+)/.exec(info);
  return valkey ? `Valkey ${valkey[1]}` : `Redis ${/redis_version:(\S+)/.exec(info)?.[1]}`;
}

/** The shop's data and what is left of its locks, which would expire by itself. */
async function removeKeys(client, namespace) {
  for await (const keys of client.scanStream({ match: `${namespace}:*`, count: 1_000 })) {
    if (keys.length > 0) await client.unlink(keys);
  }
}
