import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { HoldDescription, LockEvent, WaitDescription } from '../core/diagnostics.js';

/** What an exporter receives. */
export interface Listeners {
  readonly waitBegins?: (wait: WaitDescription) => void;
  readonly waitEnds?: (wait: WaitDescription) => void;
  readonly holdBegins?: (hold: HoldDescription) => void;
  readonly holdEnds?: (hold: HoldDescription) => void;
  readonly onEvent?: (event: LockEvent) => void;
}

/**
 * Subscribes to what the locks of this process publish; the result ends it.
 *
 * @param onError gets what a listener throws; without it no listener may throw, since a channel ends the process by that
 */
export function subscribe(listeners: Listeners, onError?: (error: unknown) => void): () => void {
  const pairs = [
    ['tracing:fairlock:wait:start', listeners.waitBegins],
    ['tracing:fairlock:wait:asyncEnd', listeners.waitEnds],
    ['tracing:fairlock:hold:start', listeners.holdBegins],
    ['tracing:fairlock:hold:asyncEnd', listeners.holdEnds],
    ['fairlock:event', listeners.onEvent],
  ] as const;
  const ends = pairs.flatMap(([name, listener]) => {
    if (!listener) return [];
    const receive = (message: unknown): void => {
      try {
        (listener as (message: unknown) => void)(message);
      } catch (error) {
        if (!onError) throw error;
        onError(error);
      }
    };
    const source = sourceOf(name);
    source.subscribe(receive);
    return [() => void source.unsubscribe(receive)];
  });
  return () => {
    for (const end of ends) end();
  };
}

/** The parts of a tracing channel are taken from it, as other Node versions may name them in another way. */
function sourceOf(name: string): ReturnType<typeof channel> {
  const [, tracing, part] = /^tracing:(.+):(start|asyncEnd)$/.exec(name) ?? [];
  if (tracing === undefined) return channel(name);
  return tracingChannel(tracing)[part as 'start' | 'asyncEnd'];
}
