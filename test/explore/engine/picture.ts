import { getEventListeners } from 'node:events';
import type { Call } from './call.js';
import { START } from './code.js';
import type { Run } from './run.js';

/** Fields that name or count only, or tell how long ago something was. */
const UNTOLD = new Set([
  'number',
  'since',
  'monotonic',
  'wall',
  'options',
  'previous',
  'lastNumber',
  'startedAt',
  'label',
]);
/** Objects that only lead out of the engine. */
const OUTSIDE = new Set([
  'Promise',
  'Function',
  'AsyncFunction',
  'AsyncResource',
  'Run',
  'StandInStore',
  'Timer',
]);

/**
 * A text of everything that decides what can happen from now on: what the engine keeps, the store, and how far the calls are. Times are told
 * from now, and the past is all one. Two histories with equal texts have the same future.
 */
export function pictureOf(run: Run): string {
  const { grants, shutdown } = run.inside;
  const { store, ends, troubles, hurried } = run;
  const walk = new Walk(run.code.clock.now);
  walk.tell([run.calls.map(facts), store.waiting, store.grants, ends, grants, shutdown, troubles, hurried]);
  walk.tell([...run.clients.values()].map(({ awaitsAnswer }) => awaitsAnswer));
  walk.tell([...run.happened].filter((kind) => kind === 'shutdown' || kind === 'close'));
  return walk.text;
}

/** What is known of a call from outside. An ended one matters by the scope that it leaves behind. */
function facts({ state, lock, scope, told, abort, place }: Call): unknown[] {
  if (state === 'idle') return [state];
  if (state === 'ended') return [state, place !== undefined, scope, lock];
  return [state, place !== undefined, scope, lock, told, abort.signal];
}

class Walk {
  text = '';
  private readonly names = new Map<object, number>();

  constructor(private readonly now: number) {}

  tell(value: unknown): void {
    if (typeof value === 'number') this.text += this.toldNumber(value);
    else if (typeof value !== 'object' || value === null)
      this.text += typeof value === 'function' ? 'f' : String(value);
    else this.tellObject(value);
    this.text += ',';
  }

  private toldNumber(value: number): string {
    if (value < START || value === Infinity) return String(value);
    return value >= this.now ? `+${value - this.now}` : 'past';
  }

  private tellObject(value: object): void {
    const known = this.names.get(value);
    if (known !== undefined) {
      this.text += `#${known}`;
      return;
    }
    this.names.set(value, this.names.size);
    const { name } = value.constructor;
    if (OUTSIDE.has(name)) this.text += name;
    else if (value instanceof Error) this.text += `${(value as { code?: string | number }).code ?? name}`;
    else if (value instanceof AbortSignal) this.tellSignal(value);
    else if (value instanceof AbortController) this.tell(value.signal);
    else if (name === 'Timers')
      this.tellTimers(value as unknown as { heap: { due: number; task: object }[] });
    else this.tellFields(name, value);
  }

  private tellSignal(signal: AbortSignal): void {
    this.text += `${signal.aborted}${getEventListeners(signal, 'abort').length}`;
    if (signal.aborted) this.tell(signal.reason);
  }

  /** The order of the heap is of no use but for the first of equal times. */
  private tellTimers({ heap }: { heap: { due: number; task: object }[] }): void {
    const sorted = [...heap].sort((one, other) => one.due - other.due);
    for (const { due, task } of sorted) this.tell([due, task]);
  }

  private tellFields(name: string, value: object): void {
    this.text += `${name}{`;
    if (value instanceof Map || value instanceof Set) for (const item of value) this.tell(item);
    else
      for (const [field, item] of Object.entries(value)) {
        if (UNTOLD.has(field) || (field === 'timerEntry' && name !== 'Timers')) continue;
        this.text += `${field}:`;
        this.tell(item);
      }
    this.text += '}';
  }
}
