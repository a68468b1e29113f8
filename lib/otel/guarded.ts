import { diag } from '@opentelemetry/api';
import { subscribe, type Listeners } from '../observe/subscriptions.js';

/**
 * Subscribes as `subscribe` does. What a span processor or an exporter of the application throws goes to the log of OpenTelemetry: a channel
 * would end the process by it.
 */
export function subscribeGuarded(listeners: Listeners): () => void {
  return subscribe(listeners, (error) => {
    diag.error('nestjs-fair-lock: a lock could not be reported.', error);
  });
}
