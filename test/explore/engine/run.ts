import type { LockEngine } from '../../../lib/core/engine/lock-engine.js';
import type { AcquireCall, CallWait } from '../../../lib/core/waits/wait.js';
import type { SharedGrants } from '../../../lib/core/holds/shared-grants.js';
import type { Shutdown } from '../../../lib/core/waits/shutdown.js';
import type { Timers } from '../../../lib/core/runtime/timers.js';
import type { Waits } from '../../../lib/core/waits/waits.js';
import { Call, OWN_ERROR, type Place } from './call.js';
import type { EngineCode } from './code.js';
import { checkEntry } from './checks.js';
import { movesOf } from './moves.js';
import { flowOf, type Program } from './program.js';
import { isTrouble, Violation, type EngineScope, type Move } from './scope.js';
import { StandInStore } from './stand-in-store.js';

/** Time from the beginning of a shutdown to the end of all waits, ms. */
const DRAIN_TIME = 50;

/** The parts of an engine that the checks look at. */
export interface Inside {
  readonly grants: SharedGrants;
  readonly timers: Timers;
  readonly shutdown: Pick<Shutdown, 'closed' | 'drained'> & { readonly waits: Waits; readonly phase: string };
}

/** The client of a flow. */
class Client {
  readonly gone = new AbortController();

  get awaitsAnswer(): boolean {
    return !this.gone.signal.aborted;
  }

  leaving(): AbortSignal {
    return this.gone.signal;
  }
}

/** Of aborts. */
const REASON = new Error('the caller has gone');

const AT_ONCE: Place = (code) => code();

/** One history: a fresh engine, the calls of a program, and the moves that were made. */
export class Run {
  readonly store: StandInStore;
  readonly engine: LockEngine;
  readonly calls: readonly Call[];
  readonly clients: ReadonlyMap<number, Client>;
  /** What was thrown where nobody can catch it. */
  readonly unhandled: unknown[] = [];
  /** What was found wrong when a section began. */
  found: Violation | undefined;
  /** How many troubles may still happen, and how many moves may still be hurried. */
  troubles: number;
  hurried: number;
  /** What happened, as far as it allows something. */
  readonly happened = new Set<string>();
  /** Whether the drain, and the close, are awaited (`pending`) or done. */
  readonly ends: { drain?: string; close?: string } = {};

  constructor(
    readonly code: EngineCode,
    readonly program: Program,
    readonly scope: EngineScope,
  ) {
    code.clock.reset();
    const { renewed, answersLate, queuesLate } = scope;
    this.store = new StandInStore(code, renewed ? 1e9 : Infinity, answersLate, queuesLate);
    this.engine = new code.LockEngine(this.store, {
      waitTime: Infinity,
      maxQueue: Infinity,
      maxHold: Infinity,
      onLost: 'signal',
      drainTimeout: DRAIN_TIME,
      reentrant: true,
      onWarning: () => undefined,
    });
    const onEntry = (call: Call, again: boolean): void => this.noting(() => checkEntry(this, call, again));
    this.calls = program.map((asked, i) => new Call(i, asked, code, this.engine.service, onEntry));
    this.clients = new Map(
      program.flatMap((_, i) => (flowOf(program, i) === i ? [[i, new Client()] as const] : [])),
    );
    this.troubles = scope.troubles;
    this.hurried = scope.hurried;
  }

  get inside(): Inside {
    return this.engine as unknown as Inside;
  }

  /** The waits of the engine. */
  get waits(): readonly CallWait<unknown>[] {
    return this.inside.shutdown.waits.present();
  }

  /** The calls of the engine that wait. */
  get waitingCalls(): readonly AcquireCall[] {
    return this.waits.map(({ call }) => call);
  }

  get closed(): boolean {
    return this.ends.close !== undefined;
  }

  /** The next time at which something is due; undefined: nothing is. */
  get nextDue(): number | undefined {
    const heap = (this.inside.timers as unknown as { heap: { due: number }[] }).heap;
    const due = Math.min(...heap.map((entry) => entry.due), ...this.store.deadlines.values());
    return due < Infinity ? due : undefined;
  }

  /** Makes a move, and lets everything settle. */
  async make(move: Move): Promise<void> {
    const { then, turns } = move;
    this.act(move);
    if (then) {
      this.hurried -= 1;
      for (let turn = 0; turn < turns!; turn++) await Promise.resolve();
      this.act(then);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** What can happen so many turns of promises after a move. */
  async soonAfter(move: Move, turns: number): Promise<Move[]> {
    this.act(move);
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    // Timers fire when all promises have settled.
    const next = movesOf(this).filter(({ kind }) => kind !== 'pass');
    return next.map((then) => ({ ...move, turns, then }));
  }

  /** A section must not fail of what is found. */
  private noting(check: () => void): void {
    try {
      check();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.found ??= error;
    }
  }

  private act(move: Move): void {
    const { kind, request = 0, key } = move;
    if (isTrouble(move)) this.troubles -= 1;
    this.happened.add(kind);
    const wait = this.store.waiting.find(({ request: { label } }) => label === String(request));
    const grant = this.store.grants.find((each) => each.label === String(request) && each.key === key);
    switch (kind) {
      case 'start':
        return this.start(this.calls[request]!);
      case 'grant':
        return this.store.grant(wait!);
      case 'busy':
        return this.store.overdue(wait!);
      case 'queue':
        return wait!.queued(0);
      case 'end':
        return this.calls[request]!.end();
      case 'answer':
        return this.store.answer(grant!);
      case 'pass':
        return this.pass();
      case 'throw':
        return this.calls[request]!.end(OWN_ERROR);
      case 'abort':
        return this.calls[request]!.abort.abort(REASON);
      case 'leave':
        return this.clients.get(request)!.gone.abort(REASON);
      case 'lose':
        return this.store.lose(grant!);
      case 'fail':
        return this.store.fail(wait!);
      case 'shutdown':
        return this.shutDown();
      case 'close':
        return this.close();
    }
  }

  private start(call: Call): void {
    const { parent, via } = call.asked;
    const client = this.clients.get(call.index);
    if (parent === undefined) return call.start((code) => this.code.runForClient(client!, code));
    const place = this.calls[parent]!.place ?? AT_ONCE;
    const lock = via === undefined ? undefined : this.calls[via]!.lock;
    call.start((code) => place(() => (lock ? lock.run(code) : code())));
  }

  private pass(): void {
    const time = this.nextDue;
    if (time === undefined) throw new Violation('replay', 'nothing is due');
    this.code.clock.passTo(time);
    this.store.passTo(time);
  }

  private shutDown(): void {
    this.engine.beginShutdown();
    this.watch('drain', this.engine.drain());
  }

  private close(): void {
    this.watch('close', this.engine.close());
  }

  private watch(end: 'drain' | 'close', promise: Promise<void>): void {
    this.ends[end] = 'pending';
    promise.then(
      () => (this.ends[end] = 'done'),
      (error: unknown) => this.unhandled.push(error),
    );
  }
}
