import type { Cluster, Redis } from 'ioredis';
import { decodeName } from './key-encoding.js';

/** How many keys a node looks at in one step of a SCAN. */
const STEP = 1_000;

/**
 * The names of all locks that Redis keeps anything for: `<prefix>{name}`. Looks at every key of the database, in steps that
 * block no other command for long. Names that are too long to be kept in full are left out.
 */
export async function namesInRedis(client: Redis | Cluster, prefix: string): Promise<string[]> {
  const nodes = client.isCluster ? (client as Cluster).nodes('master') : [client as Redis];
  const found = await Promise.all(nodes.map((node) => scan(node, prefix)));
  return [...new Set(found.flat())];
}

async function scan(node: Redis, prefix: string): Promise<string[]> {
  const names: string[] = [];
  const pattern = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}{*}`;
  for (let cursor = '0', first = true; first || cursor !== '0'; first = false) {
    const [next, keys] = await node.scan(cursor, 'MATCH', pattern, 'COUNT', STEP);
    for (const key of keys) {
      const name = decodeName(key.slice(prefix.length + 1, -1));
      if (name !== undefined) names.push(name);
    }
    cursor = next;
  }
  return names;
}
