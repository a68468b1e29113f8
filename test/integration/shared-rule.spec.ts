import fc from 'fast-check';
import { Redis } from 'ioredis';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { ScriptClient } from '../support/script-client.js';

const TIMES = { window: 60_000, lease: 60_000, grace: 250 };
const RUNS = 250;

interface Request {
  readonly client: ScriptClient;
  readonly sequence: number;
  readonly mark: string;
}

/** The rule of docs/decisions/0012-permits-and-readers.md, and nothing else. */
class Model {
  holders: Request[] = [];
  queue: Request[] = [];
  limit: number | undefined;

  /** @returns whether it holds the lock */
  ask(request: Request, tries: boolean): boolean {
    const before = this.limit;
    if (this.queue.length === 0 || !tries) this.limit = limitOf(request) ?? this.limit;
    this.queue.push(request);
    this.pass();
    const granted = this.holders.includes(request);
    if (!granted && tries) this.queue = this.queue.filter((one) => one !== request);
    if (!granted && tries) this.limit = before;
    return granted;
  }

  over(gone: (request: Request) => boolean): void {
    this.holders = this.holders.filter((one) => !gone(one));
    this.queue = this.queue.filter((one) => !gone(one));
    this.pass();
  }

  get used(): number {
    return this.holders.reduce((sum, one) => sum + weightOf(one), 0);
  }

  private pass(): void {
    for (let head = this.queue[0]; head && this.admits(head); head = this.queue[0]) {
      this.queue.shift();
      this.holders.push(head);
      this.limit = limitOf(head) ?? this.limit;
      if (head.mark === '') this.extendBatch(head);
    }
    if (this.holders.length === 0 && this.queue.length === 0) this.limit = undefined;
  }

  private admits(head: Request): boolean {
    const [one] = this.holders;
    if (!one) return true;
    if (head.mark === '' || one.mark === '' || head.mark[0] !== one.mark[0]) return false;
    if (head.mark === 'r') return true;
    return this.used + weightOf(head) <= Math.min(limitOf(head)!, this.limit ?? Infinity);
  }

  /** Plain requests of one client, next to each other in line, get one grant. */
  private extendBatch({ client }: Request): void {
    while (this.queue[0]?.client === client && this.queue[0].mark === '')
      this.holders.push(this.queue.shift()!);
  }
}

function weightOf({ mark }: Request): number {
  return mark.startsWith('p') ? Number(mark.slice(1).split('/')[0]) : 1;
}

function limitOf({ mark }: Request): number | undefined {
  return mark.startsWith('p') ? Number(mark.split('/')[1]) : undefined;
}

const mark = fc.oneof(
  fc.constantFrom('', 'r', 'r'),
  // A limit that moves between two values lets in who waited for it alone.
  fc.constantFrom('p2/2', 'p1/4', 'p1/4'),
  fc.tuple(fc.integer({ min: 1, max: 5 }), fc.nat(4)).map(([weight, more]) => `p${weight}/${weight + more}`),
);
const step = fc.record({
  by: fc.nat(2),
  command: fc.constantFrom(
    'ask',
    'ask',
    'ask',
    'ask',
    'try',
    'again',
    'end',
    'end',
    'leave',
    'late',
    'beat',
    'die',
    'force',
  ),
  mark,
  which: fc.nat(20),
});

describe('a lock of several kinds', () => {
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(redisUrl());
  });
  afterAll(() => redis.disconnect());

  /** What Redis keeps, in the words of the model. */
  async function stateOf([hash, queue]: readonly string[]) {
    const [fields, members] = await Promise.all([redis.hgetall(hash!), redis.zrange(queue!, '0', '-1')]);
    const word = fields['state']?.split('+')[0];
    const shared = Object.entries(fields).flatMap(([field, text]) =>
      field.startsWith('held:')
        ? [...text.matchAll(/,(\d+):(\d+):(\d*):\d+:/g)].map(
            ([, sequence, weight]) => `${field.slice(5)}:${sequence}:${weight}`,
          )
        : [],
    );
    const exclusive =
      word === 'held' ? fields['requests']!.split(',').map((one) => `${fields['holder']}:${one}:1`) : [];
    return {
      holders: [...shared, ...exclusive].sort(),
      queue: members.map((member) => member.split(':').slice(0, 2).join(':')),
      used: word === 'shared' ? Number(fields['used']) : undefined,
      limit: fields['limit'] === undefined ? undefined : Number(fields['limit']),
      plain: fields['format'] !== '2',
    };
  }

  test('admits as the rule says after any commands, also repeated ones, and each weight comes back once', async () => {
    const seen = { shared: 0, blocked: 0, mixed: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
        const prefix = uniquePrefix();
        const clients = Array.from({ length: 3 }, () => new ScriptClient(redis, prefix, TIMES));
        const { keys } = clients[0]!;
        const [hash] = keys;
        const model = new Model();
        const over: Request[] = [];
        const end = async (one: Request): Promise<void> => {
          if (one.mark === '') {
            // A batch ends as a whole.
            const [token, requests = ''] = await redis.hmget(hash, 'token', 'requests');
            const members = requests!.split(',').map(Number);
            await one.client.release(Number(token), members[0]);
            model.over((other) => other.client === one.client && members.includes(other.sequence));
          } else {
            over.push(one);
            await one.client.releaseShared([one.sequence]);
            model.over((other) => other === one);
          }
        };
        for (const { by, command, mark, which } of steps) {
          const client = clients[by]!;
          const pick = <T>(list: readonly T[]): T | undefined => list[which % Math.max(1, list.length)];
          const waiting = pick(model.queue);
          const holding = pick(model.holders);
          const ask = async (kind: string, tries: boolean, by = client): Promise<void> => {
            const waited = model.queue.filter((one) => one.client === by && one.mark !== '');
            const asked = kind === '' ? await by.acquire({ tries }) : await by.acquireShared(kind, { tries });
            const granted = model.ask({ client: by, sequence: asked.sequence, mark: kind }, tries);
            // No message tells the caller which of its requests this let in.
            const letIn = waited.filter((one) => model.holders.includes(one)).map(({ sequence }) => sequence);
            const told = asked.shares.map((share) => Number(share.split(':')[0]));
            expect(told).toEqual(expect.arrayContaining(letIn));
            expect([asked.status, granted]).toEqual([
              granted ? 'GRANTED' : tries ? 'BUSY' : 'QUEUED',
              granted,
            ]);
            if (granted && kind !== '') expect(asked.shares.join()).toContain(`${asked.sequence}:`);
          };
          if (command === 'ask' || command === 'try') {
            await ask(mark, command === 'try');
          } else if (command === 'again' && (waiting ?? holding)) {
            const {
              client: of,
              sequence,
              mark: kind,
            } = (which % 2 ? waiting : holding) ?? waiting ?? holding!;
            if (kind !== '') {
              const again = await of.acquireShared(kind, { sequence });
              const isIn = model.holders.some((one) => one.client === of && one.sequence === sequence);
              expect(again.status).toBe(isIn ? 'GRANTED' : 'QUEUED');
            }
          } else if (command === 'end' && holding) {
            await end(holding);
          } else if (command === 'leave' && waiting) {
            if (waiting.mark === '') await waiting.client.leave(waiting.sequence);
            else await waiting.client.releaseShared([waiting.sequence], waiting.mark);
            model.over((one) => one === waiting);
          } else if (command === 'late' && over.length > 0) {
            const { client: of, sequence } = pick(over)!;
            await of.releaseShared([sequence]);
          } else if (command === 'beat') {
            const beat = await client.heartbeat('shared');
            const own = model.holders.filter((one) => one.client === client && one.mark !== '');
            expect(beat.shares.map((share) => Number(share.split(':')[0])).sort()).toEqual(
              own.map(({ sequence }) => sequence).sort(),
            );
          } else if (command === 'die' && holding && holding.mark !== '') {
            // The lease of all that its client holds is over.
            const field = `held:${holding.client.id}`;
            const record = (await redis.hget(hash, field))!;
            await redis.hset(hash, { [field]: record.replace(/^end=\d+/, 'end=1'), 'first-end': '1' });
            // A command of another client finds that out: one that only passes the lock on, or one that also asks for it.
            const finder = client === holding.client ? clients[(by + 1) % clients.length]! : client;
            if (which % 2) await finder.leave(0);
            model.over(
              (one) => one.client === holding.client && one.mark !== '' && model.holders.includes(one),
            );
            if (which % 2 === 0) await ask(mark || 'r', false, finder);
          } else if (command === 'force' && holding && holding.mark !== '') {
            const name = `${holding.client.id}:${holding.sequence}`;
            const record = (await redis.hget(hash, `held:${holding.client.id}`))!;
            const number = new RegExp(`,${holding.sequence}:\\d+:\\d*:(\\d+)`).exec(record)![1];
            expect((await client.forceRelease([`${name}:${number}`])).status).toBe('FORCED');
            expect((await client.forceRelease([`${name}:${number}`])).status).toBe('FREE');
            model.over((one) => one === holding);
          }
          const found = await stateOf(keys);
          const isShared = model.holders.some((one) => one.mark !== '');
          expect(found).toMatchObject({
            holders: model.holders.map((one) => `${one.client.id}:${one.sequence}:${weightOf(one)}`).sort(),
            queue: model.queue.map((one) => `${one.client.id}:${one.sequence}`),
            used: isShared ? model.used : undefined,
            limit: model.limit,
          });
          if (model.holders.length + model.queue.length === 0) expect(found.plain).toBe(true);
          if (isShared && model.holders.length > 1) seen.shared += 1;
          if (isShared && model.queue.length > 0) seen.blocked += 1;
          if (new Set(model.queue.map((one) => one.mark[0])).size > 1) seen.mixed += 1;
        }
        await redis.del(...keys);
      }),
      { numRuns: RUNS, ...(process.env['SEED'] && { seed: Number(process.env['SEED']) }) },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(RUNS);
  });
});
