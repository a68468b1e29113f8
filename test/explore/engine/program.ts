import type { AcquireOptions } from '../../../lib/core/options/acquire-options.js';

/** How a request asks: `with` runs a section, `acquire` keeps a handle, whose end is a move. */
export type How = 'with' | 'acquire';

/** One request of a program. */
export interface Asked {
  /** The request in whose section it is made; undefined: it begins a flow. */
  readonly parent?: number;
  /** It is made in the `run` of the lock of this request, entered from the section of its parent. */
  readonly via?: number;
  readonly how: How;
  /** `a`, `b`, `ab` or `ba`. */
  readonly keys: string;
  readonly options: readonly Option[];
}

export type Program = readonly Asked[];

/** Options by the words that a program says them with. Times differ, so that each may pass before another. */
const OPTIONS = {
  read: { mode: 'read' },
  '1of2': { permits: 2, weight: 1 },
  '2of2': { permits: 2, weight: 2 },
  try: { waitTime: 0 },
  forever: { waitTime: Infinity },
  long: { waitTime: 40 },
  outside: { reentrant: false },
  limited: { maxHold: 30 },
  strict: { onLost: 'reject' },
  one: { maxQueue: 1 },
} as const satisfies Record<string, AcquireOptions>;

export type Option = keyof typeof OPTIONS;

/** Of a request that names no other, ms. */
export const WAIT_TIME = 20;

/** `a / 0: b read / 1 via 0: acquire a forever`: each request after its parent. */
export function readProgram(text: string): Program {
  return text.split('/').map((part) => {
    const [words, place] = part.split(':').toReversed() as [string, string?];
    const [parent, , via] = (place ?? '').trim().split(' ').filter(Boolean).map(Number);
    const list = words.trim().split(/\s+/);
    const how = list[0] === 'acquire' ? (list.shift() as How) : 'with';
    const [keys = '', ...options] = list;
    const unknown = options.find((option) => !(option in OPTIONS));
    if (unknown !== undefined || !/^(a|b|ab|ba)$/.test(keys)) throw new Error(`no such request: ${part}`);
    return {
      ...(parent !== undefined && { parent }),
      ...(via !== undefined && { via }),
      how,
      keys,
      options: options as Option[],
    };
  });
}

export function programText(program: Program): string {
  return program.map(requestText).join(' / ');
}

function requestText({ parent, via, how, keys, options }: Asked): string {
  const place = parent === undefined ? [] : [`${parent}${via === undefined ? '' : ` via ${via}`}:`];
  return [...place, ...(how === 'acquire' ? [how] : []), keys, ...options].join(' ');
}

export function optionsOf({ options }: Asked): AcquireOptions {
  return Object.assign(
    { waitTime: WAIT_TIME },
    ...options.map((option) => OPTIONS[option]),
  ) as AcquireOptions;
}

/** The requests whose locks a request is inside of, the innermost first. A handle of `acquire` opens no scope. */
export function scopeOf(program: Program, index: number): number[] {
  const { parent, via } = program[index]!;
  if (parent === undefined) return [];
  const own = program[parent]!.how === 'with' ? [parent] : [];
  return [...(via === undefined ? [] : [via]), ...own, ...scopeOf(program, parent)];
}

/** The request that began the flow. */
export function flowOf(program: Program, index: number): number {
  const { parent } = program[index]!;
  return parent === undefined ? index : flowOf(program, parent);
}
