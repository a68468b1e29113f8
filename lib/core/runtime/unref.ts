/** What a timer may have: with jest, those of jsdom are numbers, which keep no process alive. */
interface MaybeOfNode {
  ref?(): unknown;
  unref?(): unknown;
}

/** Lets the process end before the timer. */
export function unref<T extends MaybeOfNode>(timer: T): T {
  timer.unref?.();
  return timer;
}

/** Keeps the process alive until the timer, again. */
export function ref(timer: MaybeOfNode): void {
  timer.ref?.();
}
