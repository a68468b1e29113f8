import { LockKeyError } from '../../../lib/core/errors/errors.js';
import { lineKeys } from '../../../lib/stores/redisson/keys.js';

describe("Redisson's keys of a lock", () => {
  test.each([
    ['order:42', '{order:42}'],
    ['', '{}'],
    ['a}b', '{a}b}'],
    ['Zürich 🔒', '{Zürich 🔒}'],
    ['{shop}:order', '{shop}:order'],
    ['a{b', 'a{b'],
    ['{}', '{}'],
  ])('the name %j is written as it is, and as %j in the keys made from it', (name, inner) => {
    expect(lineKeys(name, false)).toEqual({
      keys: [name, `redisson_lock_queue:${inner}`, `redisson_lock_timeout:${inner}`],
      channel: `redisson_lock__channel:${inner}`,
    });
  });

  test.each(['\ud800', 'a\udc00b', 'redisson_lock_queue:{a}', 'redisson_lock_timeout:a'])(
    'the name %j is refused',
    (name) => {
      expect(() => lineKeys(name, false)).toThrow(LockKeyError);
    },
  );

  test.each(['order:42', '{shop}:order', 'order:{shop}', '{a}{b}', '{a{b}'])(
    'on a Cluster, the name %j keeps its keys together',
    (name) => {
      expect(lineKeys(name, true)).toEqual(lineKeys(name, false));
    },
  );

  test.each(['', '{}', 'a{b', 'a}b', '{}a', '{', '}'])('on a Cluster, the name %j is refused', (name) => {
    expect(() => lineKeys(name, true)).toThrow(LockKeyError);
  });
});
