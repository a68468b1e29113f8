import { jest } from '@jest/globals';
import { BriefSpin } from '../../../lib/stores/redis-client/brief-spin.js';

/** More than a spin lasts, ms. */
const LONGER = 1;
/** So many looks at most are let through for one command: a spin that does not end would have more. */
const MANY = 100;

describe('a brief spin', () => {
  let spin: BriefSpin;
  let looks: (() => void)[];

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    spin = new BriefSpin();
    looks = [];
    jest
      .spyOn(globalThis, 'setImmediate')
      .mockImplementation(((look: () => void) => looks.push(look)) as never);
  });
  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  /** Turns of the event loop until nothing is looked for any more; how many there were. */
  const turns = (): number => {
    let count = 0;
    for (let look = looks.shift(); look && count < MANY; look = looks.shift()) {
      count += 1;
      look();
    }
    return count;
  };
  const send = (): void => spin.begin(performance.now());
  /** Whether a command is looked for whose answer takes longer than a spin. */
  const looksInVain = (): boolean => {
    send();
    const looked = looks.length > 0;
    jest.advanceTimersByTime(LONGER);
    turns();
    return looked;
  };

  test('keeps the event loop awake until the answer is there', () => {
    send();
    expect(turns()).toBe(MANY);
    spin.end();
    turns();
    expect(looks).toEqual([]);
  });

  test('gives up after a moment', () => {
    expect(looksInVain()).toBe(true);
    expect(looks).toEqual([]);
  });

  test('has one look under way, however many commands there are', () => {
    for (let i = 0; i < 3; i += 1) {
      send();
      spin.end();
    }
    expect(looks).toHaveLength(1);
  });

  test('ends when the command is not alone any more', () => {
    send();
    spin.stop();
    expect(turns()).toBe(1);
  });

  test('all but rests where the server is further away', () => {
    const tried = Array.from({ length: 1_000 }, looksInVain).filter(Boolean).length;
    expect(tried).toBeLessThan(30);
    expect(tried).toBeGreaterThan(10);
  });

  test('is itself again when the server is close by again', () => {
    for (let i = 0; i < 200; i += 1) looksInVain();
    let tried = 0;
    for (let i = 0; i < 200; i += 1) {
      send();
      if (looks.length > 0) tried += 1;
      spin.end();
      turns();
    }
    // At most one rest, of 64, was still to come.
    expect(tried).toBeGreaterThanOrEqual(200 - 64);
  });
});
