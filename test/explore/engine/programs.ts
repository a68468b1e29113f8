import { readProgram, type Program } from './program.js';
import { PLAIN, type EngineScope } from './scope.js';

/** Programs of one kind, and what may happen in them. */
export interface Family {
  readonly programs: readonly Program[];
  readonly scope: EngineScope;
}

/** A request without its place. */
type Words = string;

interface Tree {
  readonly words: Words;
  readonly children: readonly Tree[];
}

/** All forests of `count` requests; the order of flows, and of the sections in one, is of no use. */
function forests(count: number, words: readonly Words[]): Tree[][] {
  if (count === 0) return [[]];
  const found = new Map<string, Tree[]>();
  for (let first = 1; first <= count; first++) {
    for (const children of forests(first - 1, words)) {
      for (const rest of forests(count - first, words)) {
        for (const each of words) {
          const forest = [{ words: each, children }, ...rest].sort((one, other) =>
            told(one) < told(other) ? -1 : 1,
          );
          found.set(forest.map(told).join(), forest);
        }
      }
    }
  }
  return [...found.values()];
}

const told = ({ words, children }: Tree): string => `${words}(${children.map(told).join()})`;

function textOf(forest: readonly Tree[]): string {
  const lines: string[] = [];
  const add = ({ words, children }: Tree, parent?: number): void => {
    const index = lines.length;
    lines.push(parent === undefined ? words : `${parent}: ${words}`);
    for (const child of children) add(child, index);
  };
  for (const tree of forest) add(tree);
  return lines.join(' / ');
}

function all(
  counts: readonly number[],
  words: readonly Words[],
  fits: (text: string) => boolean = () => true,
): Program[] {
  return counts
    .flatMap((count) => forests(count, words))
    .map(textOf)
    .filter(fits)
    .map(readProgram);
}

/** Each request that is made two deep, also by way of the lock of the outermost section. */
function detours(programs: readonly Program[]): Program[] {
  return programs.flatMap((program) =>
    program.flatMap((asked, i) => {
      const { parent } = asked;
      const outer = parent === undefined ? undefined : program[parent]!.parent;
      return outer === undefined ? [] : [program.with(i, { ...asked, via: outer })];
    }),
  );
}

const KEYS = ['a', 'b', 'ab'];
const each = (keys: readonly string[], ...options: readonly string[]): string[] =>
  keys.flatMap((key) => options.map((option) => `${key} ${option}`.trim()));
const once = (word: string) => (text: string) => text.split(word).length === 2;

/** The kinds of programs, by name. */
export const FAMILIES: Record<string, () => Family> = {
  /** Every nesting of three requests for a, b or both. */
  plain: () => ({ programs: all([1, 2, 3], KEYS), scope: PLAIN }),
  /** Whose waits have no end: what is stuck stays so. */
  forever: () => ({ programs: all([2, 3], each(KEYS, 'forever')), scope: PLAIN }),
  /** Readers, writers and permits of one lock. */
  shared: () => ({ programs: all([2, 3], each(['a'], '', 'read', '1of2', '2of2')), scope: PLAIN }),
  /** Handles, which are released by a move and open no scope. */
  handles: () => ({
    programs: all([2, 3], ['a', 'ab', 'acquire a', 'acquire ab'], (text) => text.includes('acquire')),
    scope: PLAIN,
  }),
  /** A lock is entered again from further inside. */
  detours: () => {
    const programs = all(
      [3],
      ['a forever', 'b forever', 'ab forever', 'acquire a forever', 'acquire b forever'],
    );
    return { programs: detours(programs), scope: { ...PLAIN, only: ['lose', 'abort'] } };
  },
  /** One request with another option. */
  options: () => {
    const words = ['try', 'long', 'limited', 'outside', 'strict', 'one'];
    const programs = words.flatMap((word) => all([2, 3], ['a', `a ${word}`, `ab ${word}`], once(word)));
    return { programs, scope: PLAIN };
  },
  /** Two troubles. */
  troubles: () => ({ programs: all([1, 2], KEYS), scope: { ...PLAIN, troubles: 2 } }),
  /** Releases that are answered late, and places that are told late. */
  late: () => ({ programs: all([1, 2], KEYS), scope: { ...PLAIN, answersLate: true, queuesLate: true } }),
  /** Leases that last as long as the process, as the memory store has them. */
  endless: () => ({
    programs: all([2, 3], ['a', 'a limited'], (text) => text.includes('limited')),
    scope: { ...PLAIN, renewed: false },
  }),
  /** A move that does not wait for the promises of the one before it. */
  hurried: () => ({ programs: all([1, 2], KEYS), scope: { ...PLAIN, hurried: 1 } }),
};
