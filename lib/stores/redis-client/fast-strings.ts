/** More often than a function must be called before V8 takes note of what it does. */
const OFTEN = 1_000;

/**
 * Makes the methods of strings fast again, for the whole process. To be called when ioredis is loaded.
 *
 * ioredis 6 has a class that extends String. From then on V8 keeps the properties of String.prototype in a dictionary, and
 * looks up every method of every string there: reading an answer takes 250 ns instead of 50. When it sees a method
 * looked up through a String object, it puts them in order again.
 */
export function mendStrings(): void {
  const text = Object('') as { at: unknown };
  let found: unknown;
  for (let i = 0; i < OFTEN; i += 1) found = text.at;
  void found;
}
