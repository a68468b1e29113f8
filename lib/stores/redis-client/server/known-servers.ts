import type { Cluster, Redis } from 'ioredis';
import { addressOf } from '../connection/cluster-nodes.js';
import { hashSlot } from '../connection/hash-slot.js';
import { introduce } from './introduction.js';
import { ServerClocks, type ServerClock } from './server-clock.js';

/** The address of the only server, where there is one. */
const THE_SERVER = '';

/** old store only: the clock and the identity of each server that a connection has met. Goes with introduction.ts and server-clock.ts. */
export class KnownServers {
  /** Called when the clock of a server was set: by at least so many ms (negative: back). */
  onClockStep: ((step: number) => void) | undefined;
  /** Run id of the only server, to compare with that of the subscriber; undefined if INFO is not permitted, and on a Cluster. */
  serverRunId: string | undefined;
  private readonly clocks = new ServerClocks((step) => this.onClockStep?.(step));
  /** By address: each promotion makes another one of a server. */
  private readonly servers = new Map<string, string>();
  private connections = 0;

  constructor(
    private readonly client: Redis | Cluster,
    private readonly keyPrefix: string,
  ) {}

  clockOf(key: string): ServerClock {
    return this.clocks.of(this.addressOf(key));
  }

  /** Which primary keeps `key`; undefined while that is not known. */
  serverOf(key: string): string | undefined {
    return this.servers.get(this.addressOf(key) ?? '?');
  }

  /** Resolves when the server behind a new connection is known as well as it can be, with whether the connection still is. */
  async meet(node: Redis | Cluster): Promise<void> {
    const { isCluster } = this.client;
    const address = isCluster ? addressOf(node as Redis) : THE_SERVER;
    const connection = (this.connections += 1);
    const id = await introduce(node, this.clocks.of(address));
    if (node.status !== 'ready') return;
    // If its id is not known, each connection counts as another server.
    this.servers.set(address, id?.primary ?? `connection ${connection}`);
    if (!isCluster) this.serverRunId = id?.runId;
  }

  forget(node: Redis | Cluster): void {
    const address = this.client.isCluster ? addressOf(node as Redis) : THE_SERVER;
    this.servers.delete(address);
    this.serverRunId = undefined;
    // Another server may answer next, with another clock.
    this.clocks.forget(address);
  }

  private addressOf(key: string): string | undefined {
    if (!this.client.isCluster) return THE_SERVER;
    return (this.client as Cluster).slots[hashSlot(this.keyPrefix + key)]?.[0];
  }
}
