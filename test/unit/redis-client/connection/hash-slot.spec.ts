import { hashSlot } from '../../../../lib/stores/redis-client/connection/hash-slot.js';

describe('the slot of a key', () => {
  test.each([
    ['123456789', 0x31c3], // the check value of the Cluster specification
    ['somekey', 11_058],
    ['foo{hash_tag}', 2_515],
    ['bar{hash_tag}', 2_515],
  ])('%s is in %i, as Redis documents it', (key, slot) => {
    expect(hashSlot(key)).toBe(slot);
  });

  test('is that of the first tag, and of the whole key where the tag is empty or never closed', () => {
    expect(hashSlot('a{b}{c}')).toBe(hashSlot('b'));
    expect(hashSlot('a{{b}}')).toBe(hashSlot('{b'));
    expect(hashSlot('foo{}{bar}')).not.toBe(hashSlot('bar'));
    expect(hashSlot('a{b')).not.toBe(hashSlot('b'));
  });

  test('goes by the bytes of UTF-8', () => {
    expect(hashSlot('{€}')).toBe(hashSlot('€'));
    expect(hashSlot('€')).not.toBe(hashSlot('?'));
  });
});
