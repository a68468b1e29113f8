import type { ServerBreak } from './history.js';

/** After these the server lacks what it acknowledged before. */
export const LOSSES: ReadonlySet<ServerBreak['kind']> = new Set(['data-lost', 'failed-over', 'split']);

/** When the server did not keep its side. */
export class Breaks {
  private readonly breaks: ServerBreak[] = [];
  /** By how much its clock was set back in all, ms. */
  steppedBack = 0;
  /** Until when the primary that was cut off last served. */
  splitUntil = Infinity;

  add(broke: ServerBreak): void {
    this.breaks.push(broke);
    if (broke.kind === 'clock-back') this.steppedBack += broke.by;
    if (broke.kind === 'split') this.splitUntil = Infinity;
  }

  some(test: (broke: ServerBreak) => boolean): boolean {
    return this.breaks.some(test);
  }

  /** Two primaries keep two lines until one ends, and what is in its line joins the other within `recovery`. */
  isSplit(at: number, recovery: number): boolean {
    const hasBegun = this.breaks.some((broke) => broke.kind === 'split' && broke.at <= at);
    return hasBegun && at <= this.splitUntil + recovery;
  }

  /** The server's clock at a time, but for a constant and its rate, ms. */
  clockAt(time: number): number {
    const steps = this.breaks.filter(({ kind, at }) => kind.startsWith('clock-') && at <= time);
    return steps.reduce((clock, { kind, by }) => clock + (kind === 'clock-forward' ? by : -by), time);
  }

  /** The highest that the server's clock had been until then. */
  highestClock(until: number): number {
    const stepsBack = this.breaks.filter(({ kind, at }) => kind === 'clock-back' && at <= until);
    return Math.max(this.clockAt(until), ...stepsBack.map(({ at, by }) => this.clockAt(at) + by));
  }
}
