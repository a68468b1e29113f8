import { Random } from '../simulation/world/random.js';
import { pause } from '../support/waiting.js';
import { TROUBLES, type Target, type Trouble } from './troubles.js';

/** Faults at random times, all drawn from one seed. */
export class FaultInjector {
  /** How often each was made. */
  readonly made = new Map<string, number>();
  private readonly underWay = new Set<Promise<void>>();
  private readonly random: Random;
  private ended = false;
  private serverBusy = false;
  private failure: { readonly error: unknown } | undefined;
  private readonly troubles: readonly Trouble[];
  private readonly perSecond: number;

  /** @param killsPerSecond absent: as often as usual */
  constructor(
    private readonly target: Target,
    private readonly seed: number,
    killsPerSecond?: number,
  ) {
    this.random = new Random(seed);
    this.troubles = TROUBLES.map((trouble) =>
      trouble.name === 'kill' ? { ...trouble, perSecond: killsPerSecond ?? trouble.perSecond } : trouble,
    );
    this.perSecond = this.troubles.reduce((sum, { perSecond }) => sum + perSecond, 0);
  }

  /** Goes on until `end`; rejects when a fault could not be made or healed. */
  async run(): Promise<void> {
    for (let number = 1; !this.ended; number += 1) {
      const wait = (-Math.log(1 - this.random.next()) * 1_000) / this.perSecond;
      const trouble = this.pick();
      // Each draws from a stream of its own: how long one takes does not change what the next one is.
      const random = new Random(this.seed, number);
      await pause(wait);
      if (this.failure) throw this.failure.error;
      if (!this.ended && !(trouble.ofServer && this.serverBusy)) this.make(trouble, random);
    }
  }

  /** Nothing new; resolves when all that is under way is healed. */
  async end(): Promise<void> {
    this.ended = true;
    await Promise.all(this.underWay);
    if (this.failure) throw this.failure.error;
  }

  private pick(): Trouble {
    let left = this.random.next() * this.perSecond;
    return this.troubles.find(({ perSecond }) => (left -= perSecond) < 0) ?? (this.troubles[0] as Trouble);
  }

  private make(trouble: Trouble, random: Random): void {
    const { name, ofServer = false } = trouble;
    if (ofServer) this.serverBusy = true;
    const making = trouble.make(this.target, random).then(
      (done) => {
        if (done !== false) this.made.set(name, (this.made.get(name) ?? 0) + 1);
      },
      (error: unknown) => void (this.failure ??= { error }),
    );
    const underWay = making.then(() => {
      if (ofServer) this.serverBusy = false;
      this.underWay.delete(underWay);
    });
    this.underWay.add(underWay);
  }
}
