import { eventually, SOON } from '../support/waiting.js';
import { hostClock, type Peer, type PeerEvent, type Worker } from './peer.js';
import { describeWithRedisson } from './with-redisson.js';

const LOCK = 'interop';
const ROUNDS = 100;
/** Long enough for the others to join meanwhile. */
const HOLD = 8;

interface Section {
  readonly worker: string;
  granted: number;
  ending: number;
}

describeWithRedisson('Java and Node in one line', 30_000, (interop) => {
  let java: Peer;
  let nodes: Peer[];

  beforeAll(async () => {
    java = await interop.java();
    nodes = [await interop.node(), await interop.node()];
  });

  test('the clock that events are stamped with is one for all', async () => {
    for (const worker of [java, ...nodes].map((peer) => peer.worker('clock'))) {
      const before = hostClock();
      const { at } = await worker.does('held', LOCK);
      expect(at).toBeGreaterThanOrEqual(before);
      expect(at).toBeLessThanOrEqual(hostClock());
    }
  });

  test('400 waits in a known order: 0 overlaps, 0 inversions', async () => {
    const workers = [
      java.worker('java-1'),
      java.worker('java-2'),
      nodes[0]?.worker('node-1'),
      nodes[1]?.worker('node-2'),
    ]
      .filter((worker) => worker !== undefined)
      .map((worker) => new Taker(worker));
    const joined: string[] = [];
    for (let round = 0; round < workers.length * ROUNDS; round += 1) {
      // A different one begins each round, so that every neighbourhood of languages comes up.
      const taker = workers[(round + Math.floor(round / workers.length)) % workers.length] as Taker;
      await eventually(() => taker.idle, SOON, `${taker.name} to be free`);
      const before = new Set(await interop.queue(LOCK));
      taker.take();
      await eventually(
        async () => taker.granted || (await interop.queue(LOCK)).some((id) => !before.has(id)),
        SOON,
        `${taker.name} to be in line`,
      );
      joined.push(taker.name);
    }
    await Promise.all(workers.map((worker) => eventually(() => worker.idle, SOON, `${worker.name} to end`)));

    const sections = workers.flatMap((worker) => worker.sections).sort((a, b) => a.granted - b.granted);
    expect(sections).toHaveLength(400);
    expect(overlaps(sections)).toEqual([]);
    expect(sections.map(({ worker }) => worker)).toEqual(joined);
    // A line without waiters would show nothing.
    expect(workers.reduce((sum, { hadToWait }) => sum + hadToWait, 0)).toBeGreaterThan(200);
    expect(await interop.redis.keys('*')).toEqual([]);
  });

  test('a rush of 12 askers, 25 times each: all are served, and never two at a time', async () => {
    const workers = [java, ...nodes]
      .flatMap((peer, i) => Array.from({ length: 4 }, (_, j) => peer.worker(`rusher-${i}-${j}`)))
      .map((worker) => new Taker(worker));
    await Promise.all(
      workers.map(async (worker) => {
        for (let round = 0; round < 25; round += 1) {
          worker.take(1);
          await eventually(() => worker.idle, 60_000, `${worker.name} to be served`);
        }
      }),
    );
    const sections = workers.flatMap((worker) => worker.sections).sort((a, b) => a.granted - b.granted);
    expect(sections).toHaveLength(300);
    expect(overlaps(sections)).toEqual([]);
    expect(await interop.redis.keys('*')).toEqual([]);
  });
});

/** A worker that takes the lock, holds it for a moment and gives it back, and the sections it had. */
class Taker {
  readonly sections: Section[] = [];
  granted = true;
  idle = true;
  hadToWait = 0;
  private askedAt = 0;

  constructor(private readonly worker: Worker) {}

  get name(): string {
    return this.worker.name;
  }

  take(hold = HOLD): void {
    this.granted = false;
    this.idle = false;
    this.askedAt = hostClock();
    this.worker.send('take', LOCK, hold);
    void this.follow();
  }

  private async follow(): Promise<void> {
    const granted = await this.expect('granted');
    this.granted = true;
    if (granted.at - this.askedAt > HOLD / 2) this.hadToWait += 1;
    const ending = await this.expect('ending');
    this.sections.push({ worker: this.name, granted: granted.at, ending: ending.at });
    await this.expect('released');
    this.idle = true;
  }

  private async expect(event: string): Promise<PeerEvent> {
    const received = await this.worker.next(60_000);
    if (received.event !== event)
      throw new Error(`${this.name}: ${received.event} ${received.details}, not ${event}`);
    return received;
  }
}

/** Sections in the order of their grants that began before the one before had ended. */
function overlaps(sections: readonly Section[]): string[] {
  return sections.flatMap((section, i) => {
    const before = sections[i - 1];
    return before && before.ending > section.granted ? [`${before.worker} and ${section.worker}`] : [];
  });
}
