/** Members by score, then by name. */
export class SortedSet {
  private readonly scores = new Map<string, number>();
  private readonly order: string[] = [];

  get size(): number {
    return this.order.length;
  }

  score(member: string): number | undefined {
    return this.scores.get(member);
  }

  /** Returns whether the member is new. */
  set(member: string, score: number): boolean {
    const isNew = !this.delete(member);
    this.scores.set(member, score);
    this.order.splice(this.position(member, score), 0, member);
    return isNew;
  }

  delete(member: string): boolean {
    const score = this.scores.get(member);
    if (score === undefined) return false;
    this.order.splice(this.position(member, score), 1);
    this.scores.delete(member);
    return true;
  }

  rank(member: string): number | undefined {
    const score = this.scores.get(member);
    return score === undefined ? undefined : this.position(member, score);
  }

  /** Members from rank `start` to `stop`, both included; negative ranks count from the end, as in Redis. */
  range(start: number, stop: number): string[] {
    const from = Math.max(0, start < 0 ? this.size + start : start);
    const to = stop < 0 ? this.size + stop : stop;
    return from > to ? [] : this.order.slice(from, to + 1);
  }

  reversed(): string[] {
    return [...this.order].reverse();
  }

  copy(): SortedSet {
    const copy = new SortedSet();
    for (const [member, score] of this.scores) copy.scores.set(member, score);
    copy.order.push(...this.order);
    return copy;
  }

  /** Where the member stands, or would stand. */
  private position(member: string, score: number): number {
    let low = 0;
    let high = this.order.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.order[middle] as string;
      const otherScore = this.scores.get(other) as number;
      if (otherScore < score || (otherScore === score && other < member)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
