import { Command } from 'ioredis';
import { wireText } from '../../../lib/stores/redis-client/script-call.js';

describe('the text of a script call', () => {
  const sameAsIoredis = (args: string[]): void => {
    expect(wireText('evalsha', args)).toBe(new Command('evalsha', args).toWritable({}));
  };

  it('is what ioredis would write', () => {
    sameAsIoredis(['0123456789abcdef', '1', 'fairlock:{a}', '', ' 1 2 3 ']);
  });

  it('counts bytes, not characters, where a label is not ASCII', () => {
    sameAsIoredis(['0123456789abcdef', '0', 'Aufträge.prüfen', '注文', '🔒']);
  });

  it('holds arguments of any length', () => {
    for (const length of [1, 9, 10, 255, 256, 257, 70_000]) {
      sameAsIoredis(['x'.repeat(length), 'ü'.repeat(length)]);
    }
  });
});
