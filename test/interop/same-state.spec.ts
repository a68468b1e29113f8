import { type Peer } from './peer.js';
import { EXPECTED, walkThrough } from './walk-through.js';
import { describeWithRedisson } from './with-redisson.js';

describeWithRedisson('The state in Redis, key by key and step by step', 30_000, (interop) => {
  const odd = (part: string): boolean => Number(part.slice(1)) % 2 === 1;
  let java: Peer;
  let node: Peer;

  beforeEach(async () => {
    // The walk-through ends in the middle, so each has peers of its own.
    java = await interop.java();
    node = await interop.node();
  });

  afterEach(() => interop.killPeers());

  test('by Redisson alone', async () => {
    expect(await walkThrough(interop, () => java)).toEqual(EXPECTED);
  });

  test('by Node alone', async () => {
    expect(await walkThrough(interop, () => node)).toEqual(EXPECTED);
  });

  test('by both in turns, Java first', async () => {
    expect(await walkThrough(interop, (part) => (odd(part) ? java : node))).toEqual(EXPECTED);
  });

  test('by both in turns, Node first', async () => {
    expect(await walkThrough(interop, (part) => (odd(part) ? node : java))).toEqual(EXPECTED);
  });
});
