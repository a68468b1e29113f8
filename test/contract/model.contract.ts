import fc from 'fast-check';
import { valuesOf } from '../support/option-values.js';
import { within, SOON } from '../support/waiting.js';
import { type TestRequestOptions, Bench, type Capabilities, type StoreFactory } from './store-under-test.js';
import { History } from './history.js';
import { Reference } from './model.js';
import { lockNumber, patientOptions, steps, Subject } from './model.steps.js';

/** How long a property may take over all its runs, in ms; then it fails with what it has found, its seed at least. */
const TIME_LIMIT = 240_000;

/** Locks of each registration: the names are the same for all, the locks are not. */
const NAMES = 2;

/**
 * Random sequences against the reference, and random storms against the judge of histories.
 *
 * @param registrations clients of one factory share their lines; those of different factories share the server at most
 *
 * A failure is shrunk and printed with its seed; `SEED=… npm run jest -- model` runs that seed again.
 */
export function describeModel(
  name: string,
  registrations: readonly StoreFactory[],
  capabilities: Capabilities,
  numRuns: number,
): void {
  const seed = process.env['SEED'];
  const parameters = {
    numRuns,
    interruptAfterTimeLimit: TIME_LIMIT,
    markInterruptAsFailure: true,
    ...(seed !== undefined && { seed: Number(seed) }),
  };

  describe(`the ${name} store, by model`, () => {
    const benches = registrations.map((factory) => new Bench(factory, capabilities));
    beforeAll(() => Promise.all(benches.map((bench) => bench.open())));
    afterAll(() => Promise.all(benches.map((bench) => bench.close())));
    const expectNothingLeft = () => Promise.all(benches.map((bench) => bench.expectNothingLeft()));
    /** Locks that no run has used yet, with the bench of each. */
    let runs = 0;
    const newLocks = (): Place[] => {
      for (const bench of benches) bench.forgetKeys();
      const names = Array.from({ length: NAMES }, (_, i) => `lock ${(runs += 1)} ${i}`);
      return names.flatMap((key) =>
        benches.map((bench, i) => ({ bench, key: bench.uses(key), title: `${key} of registration ${i}` })),
      );
    };

    test(
      'does and shows what the reference does, step by step',
      async () => {
        const property = fc.asyncProperty(
          steps(NAMES * benches.length, capabilities.sharing),
          async (sequence) => {
            const subjects = newLocks().map(({ bench, key }) => new Subject(bench, key));
            const model = new Reference(subjects.length);
            await fc.asyncModelRun(() => ({ model, real: subjects }), sequence);
            await drain(model, subjects);
            await expectNothingLeft();
          },
        );
        await fc.assert(property, parameters);
      },
      TIME_LIMIT + 3 * SOON, // the run that is going on when the time limit ends it
    );

    test(
      'keeps its promises in a storm of requests that come, abort, time out and are forced at any moment',
      async () => {
        const property = fc.asyncProperty(storms(NAMES * benches.length), async (storm) => {
          const history = new History();
          const locks = newLocks();
          const forced = storm.some(({ forcedBy }) => forcedBy !== undefined);
          // Force ends all holders, and those of other clients may end their holds before they are told.
          const shares = capabilities.sharing && !forced;
          const all = storm.map((request, i) => {
            const share = shares ? request.patient.share : undefined;
            const patient = { ...request.patient, share };
            return live(locks[request.lock] as Place, history, `request ${i}`, { ...request, patient });
          });
          await within(Promise.all(all), SOON, 'the storm to be over');
          expect(history.violations(forced && capabilities.severalClients)).toEqual([]);
          await expectNothingLeft();
        });
        await fc.assert(property, parameters);
      },
      TIME_LIMIT + 3 * SOON, // the run that is going on when the time limit ends it
    );
  });
}

/** A lock of one registration. */
interface Place {
  readonly bench: Bench;
  readonly key: string;
  /** For the history, where the names of two registrations are the same. */
  readonly title: string;
}

/** Everyone still in line is served, in order. */
async function drain(model: Reference, subjects: readonly Subject[]): Promise<void> {
  for (const [i, lock] of model.locks.entries()) {
    const subject = subjects[i];
    for (let [first] = lock.holders; subject && first; [first] = lock.holders) {
      const served = lock.end(first);
      await subject.grantOf(first).release();
      await subject.expectGranted(...served);
    }
  }
}

interface StormRequest {
  readonly client: number;
  readonly lock: number;
  /** Turns of the event loop before it asks, and for which it holds. */
  readonly delay: number;
  readonly hold: number;
  /** Turns after which it aborts; ms that it waits. */
  readonly abortAfter: number | undefined;
  readonly waitTime: number | undefined;
  readonly maxQueue: number | undefined;
  /** Of the others that are served. */
  readonly patient: TestRequestOptions;
  /** Whether its grant is taken by force in the end, by some client. */
  readonly forcedBy: number | undefined;
}

function storms(locks: number): fc.Arbitrary<StormRequest[]> {
  const seldom = (values: fc.Arbitrary<number>): fc.Arbitrary<number | undefined> =>
    fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: values });
  const request = fc.record({
    client: fc.nat(2),
    lock: lockNumber(locks),
    delay: fc.nat(30),
    hold: fc.nat(8),
    abortAfter: seldom(fc.nat(80)),
    waitTime: seldom(fc.nat(20)),
    maxQueue: seldom(fc.oneof(fc.nat(3), valuesOf('maxQueue'))),
    patient: patientOptions(true),
    forcedBy: seldom(fc.nat(2)),
  });
  return fc.array(request, { minLength: 2, maxLength: 40, size: 'max' });
}

/** The life of one request, written down. */
async function live(
  { bench, key, title }: Place,
  history: History,
  name: string,
  request: StormRequest,
): Promise<void> {
  const entry = history.begin(title, name, request.patient.share);
  await eventLoopTurns(request.delay);

  history.stamp(entry, 'sent');
  const { waitTime } = request;
  // Set before the store's own timer, so that it fires before that: not until then may the request be passed over.
  const overdue = waitTime !== undefined && setTimeout(() => history.stamp(entry, 'gaveUp'), waitTime);
  const ask = bench.ask(request.client, key, {
    ...request.patient,
    ...(waitTime !== undefined && { waitTime }),
    ...(request.maxQueue !== undefined && { maxQueue: request.maxQueue }),
    onQueued: () => history.stamp(entry, 'acknowledged'),
  });
  if (request.abortAfter !== undefined) {
    void eventLoopTurns(request.abortAfter).then(() => {
      history.stamp(entry, 'gaveUp');
      ask.abort();
    });
  }

  const result = await ask.settled();
  if (overdue) clearTimeout(overdue);
  if (result.status === 'rejected') {
    history.stamp(entry, 'gaveUp');
    return;
  }
  history.stamp(entry, 'granted');
  entry.token = result.value.token;
  result.value.lease.onLost(() => history.stamp(entry, 'lost'));
  await eventLoopTurns(request.hold);
  history.stamp(entry, 'ended');
  if (request.forcedBy !== undefined) await bench.client(request.forcedBy).forceRelease(key);
  await result.value.release();
}

async function eventLoopTurns(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await new Promise(setImmediate);
}
