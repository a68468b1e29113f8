import type { Lab } from '../support/history/lab.js';
import type { WorkerProcess } from '../support/history/worker-process.js';

/** Who is at work, and by which way it reaches the server. */
export interface Member {
  readonly worker: WorkerProcess;
  readonly behindProxy: boolean;
}

/** Where the server, and the faulty front of it, listen. */
export interface Ways {
  readonly direct: number;
  readonly proxy: number;
}

/** More at a time would only take the cores from those at work. */
const MOST_STARTING = 3;

/** So many processes at work, always; spares that have started already take the places of those that are killed. */
export class WorkerPool {
  readonly members: Member[] = [];
  /** The names of all that may feel what is done to the front, from their start on. */
  readonly behindProxy = new Set<string>();
  /** Called with the name of each that starts behind the front. */
  readonly onBehindProxy = new Set<(name: string) => void>();
  private readonly spares: Member[] = [];
  private readonly starting = new Set<Promise<void>>();
  private failure: { readonly error: unknown } | undefined;
  private started = 0;
  private ended = false;

  /** @param onJoin called with each new worker */
  constructor(
    private readonly lab: Lab,
    private readonly ways: Ways,
    private readonly onJoin: (worker: WorkerProcess, place: number) => void,
  ) {}

  /** @param proxied how many of them are behind the front */
  async begin(many: number, proxied: number, spares: number): Promise<void> {
    const first = Array.from({ length: many }, (_, i) => this.start(i < proxied));
    this.members.push(...(await Promise.all(first)));
    const more = Array.from({ length: spares }, (_, i) => this.start(i === 0));
    this.spares.push(...(await Promise.all(more)));
    for (const [place, { worker }] of this.members.entries()) this.onJoin(worker, place);
  }

  /** How many processes there were so far. */
  get processes(): number {
    return this.started;
  }

  /** Kills one, and puts a spare in its place at once. False if there is none. */
  async kill(member: Member): Promise<boolean> {
    const { behindProxy } = member;
    const spare = this.spares.find((one) => one.behindProxy === behindProxy);
    const place = this.members.indexOf(member);
    if (!spare || place < 0 || this.ended || this.starting.size >= MOST_STARTING) return false;
    this.spares.splice(this.spares.indexOf(spare), 1);
    this.members[place] = spare;
    const killed = member.worker.kill();
    this.behindProxy.delete(member.worker.name);
    this.onJoin(spare.worker, place);
    const replacing = this.start(behindProxy).then(
      (fresh) => {
        this.spares.push(fresh);
        this.starting.delete(replacing);
      },
      (error: unknown) => void (this.failure = { error }), // told when the campaign looks: settle()
    );
    this.starting.add(replacing);
    await killed;
    return true;
  }

  /** No worker is killed any more; resolves when all have started. */
  async settle(): Promise<void> {
    this.ended = true;
    await Promise.all(this.starting);
    if (this.failure) throw this.failure.error;
  }

  private async start(behindProxy: boolean): Promise<Member> {
    this.started += 1;
    const name = `w${this.started}`;
    if (behindProxy) {
      this.behindProxy.add(name);
      for (const hears of this.onBehindProxy) hears(name);
    }
    const port = behindProxy ? this.ways.proxy : this.ways.direct;
    const redis = { host: '127.0.0.1', port, connectionName: name };
    return { worker: await this.lab.worker({ name, redis }), behindProxy };
  }
}
