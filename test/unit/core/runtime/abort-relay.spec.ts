import { getEventListeners } from 'node:events';
import { follow, unfollow } from '../../../../lib/core/runtime/abort-relay.js';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

describe('a controller that follows a signal', () => {
  it('aborts with it, for the same reason', () => {
    const source = new AbortController();
    const followers = [new AbortController(), new AbortController()];
    for (const follower of followers) follow(source.signal, follower);
    source.abort('why');
    expect(followers.map(({ signal }) => signal.reason as unknown)).toEqual(['why', 'why']);
    expect(listeners(source.signal)).toBe(0);
  });

  it('aborts immediately if the signal has already aborted', () => {
    const follower = new AbortController();
    follow(AbortSignal.abort('why'), follower);
    expect(follower.signal.reason).toBe('why');
  });

  it('costs one listener however many follow, and none when all have ended', () => {
    const source = new AbortController();
    const followers = Array.from({ length: 100 }, () => new AbortController());
    for (const follower of followers) follow(source.signal, follower);
    expect(listeners(source.signal)).toBe(1);
    for (const follower of followers) unfollow(source.signal, follower);
    expect(listeners(source.signal)).toBe(0);
    source.abort();
    expect(followers.some(({ signal }) => signal.aborted)).toBe(false);
  });

  it('follows a signal of a polyfill, which calls functions only', () => {
    let listener: unknown;
    const source = {
      aborted: false,
      reason: 'why',
      addEventListener: (_type: string, added: unknown) => (listener = added),
      removeEventListener: () => undefined,
    } as unknown as AbortSignal;
    const follower = new AbortController();
    follow(source, follower);
    (listener as () => void)();
    expect(follower.signal.reason).toBe('why');
  });

  it('can follow again after it ended', () => {
    const source = new AbortController();
    const follower = new AbortController();
    follow(source.signal, follower);
    unfollow(source.signal, follower);
    unfollow(source.signal, follower);
    follow(source.signal, follower);
    source.abort();
    expect(follower.signal.aborted).toBe(true);
  });

  it('is spared if an earlier follower ends it while the signal aborts', () => {
    const source = new AbortController();
    const [first, second] = [new AbortController(), new AbortController()];
    follow(source.signal, first);
    follow(source.signal, second);
    first.signal.addEventListener('abort', () => unfollow(source.signal, second));
    source.abort();
    expect(first.signal.aborted).toBe(true);
    expect(second.signal.aborted).toBe(false);
  });
});
