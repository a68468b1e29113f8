import type { MiniRedis } from '../mini-redis/mini-redis.js';
import { describe, show } from './describe.js';
import type { Link } from './link.js';
import type { Arrived } from './primary.js';
import type { World } from './world.js';

interface FrozenPrimary {
  readonly redis: MiniRedis;
  readonly arrived: (Arrived & { readonly at: number })[];
}

/** Connections to former primaries that stand still, and what arrived there. */
export class FrozenPrimaries {
  private readonly frozen = new Map<Link, FrozenPrimary>();

  constructor(private readonly world: World) {}

  has(link: Link): boolean {
    return this.frozen.has(link);
  }

  /** Whether this command goes to one of them. */
  take(arrived: Arrived): boolean {
    const frozen = this.frozen.get(arrived.link);
    frozen?.arrived.push({ at: this.world.now, ...arrived });
    return frozen !== undefined;
  }

  delete(link: Link): void {
    this.frozen.delete(link);
  }

  /** A primary stands still, with its connections. Returns what ends that (SimServer.failOver). */
  freeze(redis: MiniRedis, links: readonly Link[], recent: number): () => void {
    const { world } = this;
    const old: FrozenPrimary = { redis, arrived: [] };
    for (const link of links) this.frozen.set(link, old);
    return () => {
      for (const { at, link, name, args, answer } of old.arrived) {
        if (at > world.now - recent || !name.startsWith('eval')) continue;
        const reply = old.redis.execute(name, args);
        world.trace(() => `        OLD PRIMARY: ${link.name} ${describe(name, args)} -> ${show(reply)}`);
        answer(reply);
      }
      for (const [link, primary] of this.frozen) {
        if (primary !== old) continue;
        this.frozen.delete(link);
        link.closeAtServer();
      }
    };
  }
}
