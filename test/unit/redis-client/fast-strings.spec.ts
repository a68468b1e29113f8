import { setFlagsFromString } from 'node:v8';
import { mendStrings } from '../../../lib/stores/redis-client/fast-strings.js';

setFlagsFromString('--allow-natives-syntax');
// eslint-disable-next-line @typescript-eslint/no-implied-eval
const areFast = new Function('return %HasFastProperties(String.prototype)') as () => boolean;

describe('the methods of strings', () => {
  it('are found fast again after a class has extended String, as one of ioredis does', () => {
    class Verbatim extends String {}
    expect(new Verbatim('x')).toHaveLength(1);
    expect(areFast()).toBe(false);
    mendStrings();
    expect(areFast()).toBe(true);
  });
});
