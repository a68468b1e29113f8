import { diag } from '@opentelemetry/api';
import { subscribe, type Listeners } from '../observe/subscriptions.js';

/**
 * Subscribes as `subscribe` does. Errors of a span processor or an exporter of the application go to the log of OpenTelemetry, because
 * an error in a channel would end the process.
 */
export function subscribeGuarded(listeners: Listeners): () => void {
  return subscribe(listeners, (error) => {
    diag.error('nestjs-fair-lock: a lock could not be reported.', error);
  });
}
