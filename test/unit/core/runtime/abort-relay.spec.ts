import { controllerForMany, follow, unfollow } from '../../../../lib/core/runtime/abort-relay.js';

it('can be made where the global class is not that of Node, as in jsdom', () => {
  const { AbortController: ofNode } = globalThis;
  globalThis.AbortController = class {
    readonly signal = new (class extends Object {})();
  } as unknown as typeof AbortController;
  try {
    expect(() => controllerForMany()).not.toThrow();
  } finally {
    globalThis.AbortController = ofNode;
  }
});

describe('a controller that follows a signal', () => {
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
