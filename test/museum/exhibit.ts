import type { FaultKind } from '../simulation/scenario/faults.js';
import type { PlanLimits } from '../simulation/scenario/plan.js';

/** A change of one source text. */
export interface Mutation {
  /** Path inside lib/, e.g. `core/port/lease.ts` or `stores/redis/scripts/acquire.lua`; of scripts never the generated file. */
  readonly file: string;
  /** Must stand in the file, once. */
  readonly from: string;
  readonly to: string;
}

/** Some simulated seed breaks an invariant, and does not with the code as it is. */
export interface BySimulation {
  readonly by: 'simulation';
  /** Kinds of faults in which it shows; absent: in all. */
  readonly only?: readonly FaultKind[];
  /** Commands that the server does not permit. */
  readonly denied?: readonly string[];
  /** Whether locks are shared, or kept, in all plans. */
  readonly plans?: Pick<PlanLimits, 'shared' | 'kept'>;
}

/** An existing test fails, and does not with the code as it is. */
export interface ByTest {
  readonly by: 'test';
  /** Path inside test/. */
  readonly file: string;
  /** A part of the test's name, as it stands there. */
  readonly name: string;
}

/** A failure that locks really had, or a rule of the protocol that is left out: put into our code, to be noticed. */
export interface Exhibit {
  /** The class of failure, or the rule (R1–R14, M1–M10 of docs/protocol.md). */
  readonly of: string;
  /** What the changed code does. */
  readonly what: string;
  readonly mutations: readonly Mutation[];
  readonly proof: BySimulation | ByTest;
}

export const inStore = (file: string, from: string, to: string): Mutation => ({
  file: `stores/redis/${file}`,
  from,
  to,
});
export const inScript = (name: string, from: string, to: string): Mutation =>
  inStore(`scripts/${name}.lua`, from, to);
export const inInclude = (name: string, from: string, to: string): Mutation =>
  inScript(`includes/${name}`, from, to);
export const inLine = (from: string, to: string): Mutation => inInclude('line', from, to);
export const inLiveness = (from: string, to: string): Mutation => inInclude('liveness', from, to);
export const inClients = (from: string, to: string): Mutation => inInclude('clients', from, to);
export const inChanges = (from: string, to: string): Mutation => inInclude('changes', from, to);

export const simulation = (...only: FaultKind[]): BySimulation => ({
  by: 'simulation',
  ...(only.length > 0 && { only }),
});
export const test = (file: string, name: string): ByTest => ({ by: 'test', file, name });
