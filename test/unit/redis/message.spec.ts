import { describe, expect, test } from '@jest/globals';
import { leftAfter, parseMessage } from '../../../lib/stores/redis/message.js';

describe('a message to a client', () => {
  test('announces a grant of several requests, for a lock whose prefix has spaces', () => {
    expect(parseMessage('granted 1795402442123456 9000 1795402442123457 4,5 my app:{k}')).toEqual({
      kind: 'granted',
      stamp: 1_795_402_442_123.456,
      left: 9_000,
      first: 1_795_402_442_123_457,
      batch: [4, 5],
      hash: 'my app:{k}',
    });
  });

  test('announces that a grant was taken away', () => {
    expect(parseMessage('revoked 1795402442123456 7 fairlock:{k}')).toEqual({
      kind: 'revoked',
      first: 7,
      hash: 'fairlock:{k}',
    });
  });

  test.each([
    'ping',
    '',
    'revoked 1 1e300 fairlock:{k}',
    'revoked 1 NaN fairlock:{k}',
    'granted 1 1 1e300 1 fairlock:{k}',
    'granted 1 Infinity 5 1 fairlock:{k}',
    'granted 1 1 5 4, fairlock:{k}',
    'granted 1 1 5 one fairlock:{k}',
  ])('that no script sends is ignored: %p', (text) => {
    expect(parseMessage(text)).toBeUndefined();
  });
});

test('a lease that a message announces counts as over if half of it may have passed', () => {
  expect(leftAfter(499, 1_000)).toBe(501);
  expect(leftAfter(500, 1_000)).toBe(0);
  expect(leftAfter(Infinity, 1_000)).toBe(0);
});
