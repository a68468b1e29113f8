/** More names than any code contains: beyond this number, they must be made from data. */
const MOST_NAMES = 500;
const OTHER = 'other';

/**
 * The lock names of an exporter. Code has few templates of keys, but a `group` that a caller makes from data may have any number of
 * values. These must not fill the memory of the process and of the metrics server, so names after the first 500 become `other`.
 */
export class LockNames {
  private readonly names = new Set<string>();

  /** @param onNew gets each name once */
  constructor(private readonly onNew?: (name: string) => void) {
    this.add(OTHER);
  }

  of(name: string): string {
    if (this.names.has(name)) return name;
    if (this.names.size >= MOST_NAMES) return OTHER;
    this.add(name);
    return name;
  }

  all(): Iterable<string> {
    return this.names;
  }

  private add(name: string): void {
    this.names.add(name);
    this.onNew?.(name);
  }
}
