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
  const [waits, holds] = [tracingChannel('fairlock:wait'), tracingChannel('fairlock:hold')];
  const pairs = [
    [waits.start, listeners.waitBegins],
    [waits.asyncEnd, listeners.waitEnds],
    [holds.start, listeners.holdBegins],
    [holds.asyncEnd, listeners.holdEnds],
    [channel('fairlock:event'), listeners.onEvent],
  ] as const;
  const ends = pairs.flatMap(([source, listener]) => {
    if (!listener) return [];
    const receive = (message: unknown): void => {
      try {
        (listener as (message: unknown) => void)(message);
      } catch (error) {
        if (!onError) throw error;
        onError(error);
      }
    };
    source.subscribe(receive);
    return [() => void source.unsubscribe(receive)];
  });
  return () => {
    for (const end of ends) end();
  };
}
