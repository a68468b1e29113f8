import { createHash } from 'node:crypto';
import { checkState } from './checks.js';
import type { EngineCode } from './code.js';
import { movesOf } from './moves.js';
import { pictureOf } from './picture.js';
import type { Program } from './program.js';
import { Run } from './run.js';
import { Violation, type EngineScope, type Move } from './scope.js';

export interface Found {
  readonly invariant: string;
  readonly text: string;
  /** One of the shortest ways there. */
  readonly trace: readonly Move[];
}

export interface Result {
  readonly states: number;
  /** Moves that were made, those of replays not counted. */
  readonly transitions: number;
  /** Moves of the longest history. */
  readonly depth: number;
  /** Whether every situation was visited. */
  readonly complete: boolean;
  readonly violation: Found | undefined;
}

/**
 * Visits every situation that a program can come to. Promises cannot be copied: each history but the first from a situation is replayed from
 * its beginning.
 */
export class Search {
  private readonly seen = new Set<string>();
  private transitions = 0;
  private depth = 0;
  private present: Run | undefined;

  constructor(
    private readonly code: EngineCode,
    private readonly program: Program,
    private readonly scope: EngineScope,
    private readonly mostStates = Infinity,
  ) {}

  async run(): Promise<Result> {
    const note = (error: unknown): void => void this.present?.unhandled.push(error);
    process.on('unhandledRejection', note);
    try {
      const violation = await this.explore();
      const { seen, transitions, depth, mostStates } = this;
      const complete = !violation && seen.size < mostStates;
      return { states: seen.size, transitions, depth, complete, violation };
    } finally {
      process.off('unhandledRejection', note);
    }
  }

  private async explore(): Promise<Found | undefined> {
    try {
      await this.follow(await this.replay([]), []);
      return undefined;
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      return await this.shortest();
    }
  }

  /** Goes into every situation that `run` can come to, as deep as there are new ones. */
  private async follow(run: Run, trace: readonly Move[]): Promise<void> {
    const moves = await this.enter(run, trace);
    let here: Run | undefined = this.present === run ? run : undefined;
    for (const move of moves) {
      if (this.seen.size >= this.mostStates) return;
      const next: Run = here ?? (await this.replay(trace));
      here = undefined;
      this.transitions += 1;
      await next.make(move);
      await this.follow(next, [...trace, move]);
    }
  }

  /** The same, those with the fewest moves first; slower. */
  private async shortest(): Promise<Found> {
    this.seen.clear();
    const open: Move[][] = [[]];
    for (let trace = open.shift(); trace; trace = open.shift()) {
      try {
        const run = await this.replay(trace);
        for (const move of await this.enter(run, trace)) open.push([...trace, move]);
      } catch (error) {
        if (error instanceof Violation) return { invariant: error.invariant, text: error.message, trace };
        throw error;
      }
    }
    throw new Error('a violation was found once, and not again');
  }

  private async replay(trace: readonly Move[]): Promise<Run> {
    const run = (this.present = new Run(this.code, this.program, this.scope));
    for (const move of trace) await run.make(move);
    return run;
  }

  /** Checks the situation. @returns the moves that lead on from it; none if it is known */
  private async enter(run: Run, trace: readonly Move[]): Promise<readonly Move[]> {
    this.depth = Math.max(this.depth, trace.length);
    if (run.found) throw run.found;
    checkState(run, trace.at(-1));
    const picture = createHash('sha1').update(pictureOf(run)).digest('base64');
    if (this.seen.has(picture)) return [];
    this.seen.add(picture);
    const moves = movesOf(run);
    return run.hurried > 0 ? [...moves, ...(await this.hurriedMoves(trace, moves))] : moves;
  }

  /** Each move followed by another one that does not wait for what it causes. */
  private async hurriedMoves(trace: readonly Move[], moves: readonly Move[]): Promise<Move[]> {
    const pairs: Move[] = [];
    for (const move of moves)
      for (let turns = 0; turns <= this.scope.turns; turns++)
        pairs.push(...(await (await this.replay(trace)).soonAfter(move, turns)));
    return pairs;
  }
}
