import { describe, expect, test } from '@jest/globals';
import { now } from '../../../lib/core/port/lease.js';
import { readReply } from '../../../lib/stores/redis/commands/reply.js';

describe('the reply of a script', () => {
  test('is read from a list, or from the text of a short cut', () => {
    expect(readReply(['QUEUED', 5_000, -1, '', 0, 0, 1, 7, 3, 0], 1, now())).toMatchObject({
      status: 'QUEUED',
      serverTime: 5,
      mustRetry: true,
      generation: 7,
      details: [3, 0],
    });
    expect(readReply('RELEASED 5000 300', 1, now())).toMatchObject({ status: 'RELEASED', wake: 300 });
    expect(readReply('RELEASED', 1, now())).toMatchObject({ status: 'RELEASED', serverTime: undefined });
    expect(readReply('GRANTED 5000 300 7', 1, now()).grant).toMatchObject({
      batch: [7],
      first: 5_000,
      left: 300,
    });
  });

  test.each([['OK'], [null], [1], [[]], [['GRANTED']], [['GRANTED', 'soon']], [{}]])(
    'is no %j, which is refused before it can be taken for a grant or for a time',
    (answer) => {
      expect(() => readReply(answer, 1, now())).toThrow(/gave an answer that no script of the lock gives/);
    },
  );
});
