/** More different names than any code has: beyond that, names are made of data. */
const MOST_NAMES = 500;
const OTHER = 'other';

/**
 * The names of locks that an exporter counts under. Templates of keys are few; a `group` that a caller makes of data is not,
 * and must not fill the memory of the process and of the metrics server: what comes after the first 500 is `other`.
 */
export class LockNames {
  private readonly names = new Set<string>([OTHER]);

  of(name: string): string {
    if (this.names.has(name)) return name;
    if (this.names.size >= MOST_NAMES) return OTHER;
    this.names.add(name);
    return name;
  }

  all(): Iterable<string> {
    return this.names;
  }
}
