import type { EngineDefaults } from '../options/acquire-options.js';
import type { Target } from '../options/lock-keys.js';
import { withPage } from '../errors/pages.js';
import { quote } from '../errors/text.js';

/** The number of keys with permits that are remembered. */
const MOST_REMEMBERED = 1_000;

/**
 * Warns once of each key of which this process asks for permits, and also for a read or for the whole lock. That is safe, since kinds exclude
 * each other, but seldom meant: a call that forgot its `permits` makes all others wait.
 */
export class MixedKinds {
  /** The keys of which permits were asked for, by the store's names; and whether a warning was given. */
  private readonly keys = new Map<string, { warned: boolean }>();

  constructor(private readonly warn: EngineDefaults['onWarning']) {}

  check({ key, encoded, share }: Target, label: string): void {
    if (share?.mode === 'permits') return this.remember(encoded);
    if (this.keys.size === 0) return;
    const found = this.keys.get(encoded);
    if (!found || found.warned) return;
    found.warned = true;
    const taken = share ? "with mode: 'read'" : 'exclusively';
    this.warn(
      withPage(
        `Some calls use permits on the lock ${quote(key)}, and one locks it ${taken}. They exclude each other: it waits until all permits ` +
          'are returned, and the calls behind it wait for it. If you did not intend this, use permits in all calls, or use two keys.',
        'sharing#kinds-exclude-each-other',
      ),
      { key, label },
    );
  }

  private remember(encoded: string): void {
    if (this.keys.has(encoded)) return;
    const [oldest] = this.keys.keys();
    if (oldest !== undefined && this.keys.size === MOST_REMEMBERED) this.keys.delete(oldest);
    this.keys.set(encoded, { warned: false });
  }
}
