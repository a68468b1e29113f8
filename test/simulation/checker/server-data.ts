import type { SimClient } from '../scenario/sim-client.js';
import type { SimServer } from '../world/sim-server.js';
import type { RequestRecord } from './history.js';
import { live, lockData, NO_DATA, type Holding, type LockData, type Place } from './lock-data.js';

/** What the server has of each lock after the last script, and whose requests those are. */
export class ServerData {
  private readonly locks = new Map<string, LockData>();
  private readonly records = new Map<SimClient, Map<number, RequestRecord>>();

  constructor(
    private readonly server: SimServer,
    private readonly clients: readonly SimClient[],
  ) {}

  /** The store calls this request so. */
  named(record: RequestRecord, sequence: number): void {
    record.sequence = sequence;
    let own = this.records.get(record.client);
    if (!own) this.records.set(record.client, (own = new Map<number, RequestRecord>()));
    own.set(sequence, record);
  }

  of(lock: string): LockData {
    return this.locks.get(lock) ?? NO_DATA;
  }

  /** Looks again. Returns what there was before, and what there is now. */
  look(lock: string): { readonly before: LockData; readonly after: LockData } {
    const before = this.of(lock);
    const after = lockData(this.server.redis, lock);
    this.locks.set(lock, after);
    return { before, after };
  }

  /** The data are other ones, which no script has made of those before. */
  replaced(): void {
    for (const lock of this.locks.keys()) this.look(lock);
  }

  /** Server ms. */
  get now(): number {
    return Math.floor(this.server.micros() / 1000);
  }

  clientOf(id: string): SimClient | undefined {
    return this.clients.find(({ ids }) => ids.has(id));
  }

  recordOf({ owner, sequence }: Place): RequestRecord | undefined {
    const client = this.clientOf(owner);
    return client && this.records.get(client)?.get(sequence);
  }

  /** The hold that the server has of this request; undefined: none that it honours. */
  holdingOf({ client, sequence, token }: RequestRecord, data: LockData, at = data.now): Holding | undefined {
    return live(data, at).find(
      (holding) =>
        !holding.kept &&
        holding.sequence === sequence &&
        client.ids.has(holding.owner) &&
        (holding.share !== undefined || !token || holding.number === token),
    );
  }
}
