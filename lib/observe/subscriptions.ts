import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { HoldDescription, LockEvent, WaitDescription } from '../core/diagnostics/diagnostics.js';

/** What an exporter receives. */
export interface Listeners {
  readonly waitBegins?: (wait: WaitDescription) => void;
  readonly waitEnds?: (wait: WaitDescription) => void;
  readonly holdBegins?: (hold: HoldDescription) => void;
  readonly holdEnds?: (hold: HoldDescription) => void;
  readonly onEvent?: (event: LockEvent) => void;
}

/**
 * Subscribes to the diagnostics of the locks of this process. The returned function ends the subscription.
 *
 * @param onError gets errors of listeners; without it listeners must not throw, because an error in a channel ends the process
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

/** Takes the parts of a tracing channel from it rather than by name, because Node versions may name them differently. */
function sourceOf(name: string): ReturnType<typeof channel> {
  const [, tracing, part] = /^tracing:(.+):(start|asyncEnd)$/.exec(name) ?? [];
  if (tracing === undefined) return channel(name);
  return tracingChannel(tracing)[part as 'start' | 'asyncEnd'];
}
