import { jest } from '@jest/globals';
import fc from 'fast-check';
import { RedissonWire } from './redisson-wire.js';
import { QUICK } from '../support/quick.js';
import { SOON } from '../support/waiting.js';

const NOON = Date.UTC(2030, 0, 1, 12);
const LEASE = 3_000;
const WAIT = 2_000;
/** 40,000 commands (at night) take 8 s alone, and minutes on a busy machine, ms; beyond that the property fails and prints its seed. */
const TIME_LIMIT = 240_000;

jest.setTimeout(TIME_LIMIT + SOON);

/**
 * Places in line while the line is never empty. Redisson reckons each deadline from the one before it, so what it was
 * once reckoned from stays in all of them; the clocks of the clients are set by hand, so that minutes pass in no time.
 */
describe('the places of live waiters in a line that is never empty', () => {
  let wire: RedissonWire;

  beforeAll(async () => {
    wire = await RedissonWire.open('places', 6, { wait: WAIT, leaseTime: LEASE });
  });
  afterAll(() => wire.close());
  beforeEach(() => wire.reset(NOON));
  afterEach(() => void jest.restoreAllMocks());

  test('whatever comes, waits, holds, dies, is granted or gives up, in any order: who still waits keeps its place', async () => {
    // Waits and pauses of all sizes, but of one size in one line: next to a wait of minutes nothing comes of milliseconds.
    const part = fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100);
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ kind: fc.constant('join' as const), wait: part }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('die' as const), which: fc.nat(20) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), which: fc.nat(20) }) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('pass' as const), pause: part }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('handOn' as const) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('look' as const) }) },
    );
    const scene = fc.record({
      longest: fc.integer({ min: 0, max: 6 }).map((power) => 10 ** power),
      lease: part,
      steps: fc.array(step, { maxLength: 200, size: 'max' }),
    });
    const property = fc.asyncProperty(scene, async ({ longest, lease, steps }) => {
      await wire.reset(NOON);
      const line = new Line(wire, Math.ceil(lease * longest) || 1);
      for (const next of steps) {
        if (next.kind === 'join') await line.join(Math.ceil(next.wait * longest) || 1);
        else if (next.kind === 'die') line.die(next.which);
        else if (next.kind === 'leave') await line.leave(next.which);
        else if (next.kind === 'pass') await line.pass(Math.round((next.pause * longest) / 3));
        else await line[next.kind]();
        expect(line.drops).toBe(0);
      }
    });
    const seed = process.env['SEED'];
    await fc.assert(property, {
      numRuns: QUICK ? 50 : 200,
      interruptAfterTimeLimit: TIME_LIMIT,
      markInterruptAsFailure: true,
      ...(seed !== undefined && { seed: Number(seed) }),
    });
  });
});

interface Waiting {
  readonly id: string;
  readonly wait: number;
  readonly until: number;
  dead: boolean;
}

/** Requests of Node clients for one lock: each gives up when its wait is over, unless it is dead. */
class Line {
  drops = 0;
  private waiting: Waiting[] = [];
  private holder: string | undefined;
  private requests = 0;

  constructor(
    private readonly wire: RedissonWire,
    private readonly lease = LEASE,
  ) {}

  async join(wait: number): Promise<void> {
    const request = {
      id: `t${(this.requests += 1)}`,
      wait,
      until: this.wire.clientTime + wait,
      dead: false,
    };
    this.waiting.push(request);
    await this.ask(request);
  }

  die(which: number): void {
    const request = this.waiting[which % this.waiting.length];
    if (request) request.dead = true;
  }

  async leave(which: number): Promise<void> {
    const request = this.waiting[which % this.waiting.length];
    if (request && !request.dead) await this.giveUp(request);
  }

  /** Time passes; whose wait is over gives up at that time. */
  async pass(ms: number): Promise<void> {
    const end = this.wire.clientTime + ms;
    const ended = this.waiting.filter(({ dead, until }) => !dead && until <= end);
    for (const request of ended.sort((a, b) => a.until - b.until)) {
      this.wire.clientTime = request.until;
      await this.giveUp(request);
    }
    this.wire.clientTime = end;
  }

  /** The holder, if any, releases, and those in line look after it. */
  async handOn(): Promise<void> {
    if (this.holder !== undefined) await this.wire.release(this.holder);
    this.holder = undefined;
    await this.look();
  }

  async look(): Promise<void> {
    for (const request of [...this.waiting]) {
      if (this.holder === undefined && !request.dead) await this.ask(request);
    }
    for (const request of [...this.waiting]) if (!request.dead) await this.ask(request);
  }

  private async ask(request: Waiting): Promise<void> {
    const reply = await this.wire.ask(request.id, {
      wait: request.wait,
      leaseTime: this.lease,
    });
    const joins = this.wire.clientTime === request.until - request.wait;
    if (reply.status === 'granted') {
      this.holder = request.id;
      this.remove(request);
    } else if (reply.status === 'queued' && reply.entered && !joins) this.drops += 1;
  }

  private async giveUp(request: Waiting): Promise<void> {
    await this.wire.leave(request.id, request.wait);
    this.remove(request);
  }

  private remove(request: Waiting): void {
    this.waiting = this.waiting.filter((other) => other !== request);
  }
}
