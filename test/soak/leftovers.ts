import type { Redis } from 'ioredis';
import { stamp } from '../support/history/events.js';
import type { Lab } from '../support/history/lab.js';
import { pause } from '../support/waiting.js';

/** How long a key is kept at most that is not renewed: a lease and the retention behind it, and a second, ms. */
const LONGEST_TTL = 60_000;

/** Records each key of the lab that has no time to live. */
export async function lookForTtls(admin: Redis, lab: Lab): Promise<number> {
  const keys = await keysOf(admin, lab);
  const ttls = await Promise.all(keys.map(async (name) => [name, await admin.pttl(name)] as const));
  let longest = 0;
  for (const [name, ttl] of ttls) {
    if (ttl === -1) lab.history.add({ at: stamp(), worker: 'test', type: 'keyWithoutTtl', name });
    longest = Math.max(longest, ttl);
  }
  return longest;
}

/** Records each shared lock whose weight is not that of its holders (docs/internals/protocol.md). */
export async function lookForWeights(admin: Redis, lab: Lab): Promise<void> {
  const locks = await Promise.all(
    (await keysOf(admin, lab)).map(async (name) => {
      const fields: Record<string, string> = await admin.hgetall(name).catch(() => ({})); // it is no hash
      return [name, fields] as const;
    }),
  );
  for (const [name, fields] of locks) {
    const used = fields['format']?.split(' ')[3];
    if (used === undefined) continue;
    const holds = Object.entries(fields)
      .filter(([field]) => field.startsWith('h:'))
      .reduce((sum, [, hold]) => sum + Number(/^\d+ \d+ p(\d+)/.exec(hold)?.[1] ?? 1), 0);
    const says = Number(used);
    if (says !== holds)
      lab.history.add({ at: stamp(), worker: 'test', type: 'weightLost', name, says, holds });
  }
}

/** Records each key that is left when all of them should be gone; without `wait`, each that is to stay for too long. */
export async function expectGone(admin: Redis, lab: Lab, wait: boolean): Promise<void> {
  const longest = await lookForTtls(admin, lab);
  const { lease, livenessWindow } = lab.times;
  const tooLong = longest > LONGEST_TTL + lease + livenessWindow;
  if (wait && !tooLong) await pause(longest + 1_000);
  else if (!tooLong) return;
  for (const name of await keysOf(admin, lab)) {
    lab.history.add({ at: stamp(), worker: 'test', type: 'leftover', name });
  }
}

async function keysOf(admin: Redis, lab: Lab): Promise<string[]> {
  const found: string[] = [];
  for await (const keys of admin.scanStream({ match: `${lab.prefix}:*`, count: 1_000 })) {
    found.push(...(keys as string[]));
  }
  return found;
}
