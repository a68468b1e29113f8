import { LockKeyError, LockTimeoutError } from '../../lib/core/errors/errors.js';
import { type TestRequest, type Bench } from './store-under-test.js';

const MIB = 2 ** 20;

/** Every string is the name of a lock, and two different strings are two locks. */
const HOSTILE_NAMES: readonly string[] = [
  ...[' ', '  ', '\0', '\0\0', '\t', '\n', '\r\n', '\n\n'],
  ...['{', '}', '{}', '}{', '{{', '{a}', '{a}b', 'a{b', 'a}b', '{a', 'a}', '{}a', 'a{}'],
  ...['a', 'A', 'ａ', 'a ', ' a', 'a\0', 'a\n', 'a:queue', 'a}:queue', 'a}:clients', 'a:'],
  ...['*', '?', '[ab]', '[^a]', 'a*', '\\', '\\*', '\\\\', '\\n', '\\0', '\\u0000', '\\ud800'],
  ...['%', '%%', '%25', '%00', '%7B', '%7D', '%7b', '%61', '%u0061', '&#97;', '=7B'],
  ...['+', '~', '_', '-', '.', '..', '/', 'null', 'undefined', 'NaN', '0', '-0', '1e3'],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'],
  ...['\ud800', '\udc00', '\ud800\ud800', '\udc00\ud800', '\ud83d\ude00', '\ud83d', '\ude00'],
  ...['\ufffd', '\ufffd\ufffd', '\ufeff', '\u200b', '\u2028', '\u202e'],
  ...['é', 'e\u0301', 'Ã©', '\xe9', '\x80', '\xff', 'ÿ\0', 'ß', 'ss', 'ı', 'i'],
  ...['\x01', '\x7f', '\x1b[31m', '\x00\xff\xfe', "'", '"', '`', '$', '${a}', '<0>', ';', '|', ','],
  ...[`${'x'.repeat(MIB)}a`, `${'x'.repeat(MIB)}b`, '\u20ac'.repeat(MIB / 4), `${'{}\ud800'.repeat(1_000)}`],
].filter((name, i, all) => all.indexOf(name) === i);

export function describeNames(bench: Bench): void {
  const { refusedNames, sharedLines } = bench.capabilities;
  const served = HOSTILE_NAMES.filter((name) => !refusedNames?.test(name));
  const refused = HOSTILE_NAMES.filter((name) => refusedNames?.test(name));

  test('hostile names all work, and are all distinct locks', async () => {
    const names = served.map((name) => bench.uses(name));
    const grants = await Promise.all(names.map((name, i) => bench.hold(i, name, { waitTime: 0 })));

    // Each is held, under its own name, and by the very client whose turn it was.
    for (const [i, name] of names.entries()) {
      expect(grants[i]?.key).toBe(name);
      const snapshot = await bench.client(i + 1).inspect(name);
      expect(snapshot.key).toBe(name);
      expect(snapshot.holder?.token).toBe(grants[i]?.token);
      expect(await bench.ask(i + 1, name, { waitTime: 0 }).refused()).toBeInstanceOf(LockTimeoutError);
    }

    // Each has a line of its own, and is handed on.
    const line = (name: string, i: number): Promise<TestRequest | undefined> =>
      sharedLines?.test(name) ? Promise.resolve(undefined) : bench.askInLine(i + 1, name);
    const waiters = await Promise.all(names.map(line));
    for (const [i, waiter] of waiters.entries()) {
      await grants[i]?.release();
      await (await waiter?.granted())?.release();
    }
    for (const name of names) expect((await bench.client().inspect(name)).holder).toBeUndefined();
  });

  if (refused.length > 0) {
    test('a name that cannot be served is refused with a sentence, whatever is asked', async () => {
      for (const name of refused) {
        const error = await bench.ask(0, name).refused();
        expect(error).toBeInstanceOf(LockKeyError);
        await expect(bench.client().inspect(name)).rejects.toThrow(LockKeyError);
        await expect(bench.client().forceRelease(name)).rejects.toThrow(LockKeyError);
      }
    });
  }

  test('names are equal after encoding exactly if they are equal, also where the one is the encoded form of the other', () => {
    const encoded = HOSTILE_NAMES.map((name) => bench.client().encode(name));
    expect(HOSTILE_NAMES.map((name) => bench.client(1).encode(name))).toEqual(encoded);
    const all = new Set([...HOSTILE_NAMES, ...encoded]);
    expect(new Set([...all].map((name) => bench.client().encode(name))).size).toBe(all.size);
  });
}
