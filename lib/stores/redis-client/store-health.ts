import type { StoreHealth } from '../../core/lock-store.js';
import type { CommandConnection } from './command-connection.js';
import { commandTimeout, toCommandFailure } from './server-failure.js';

/** Whether the server answers within `limit` ms, and whether the subscriber receives messages. Never rejects. */
export async function storeHealth(
  connection: CommandConnection,
  subscriber: { readonly up: boolean },
  limit: number,
): Promise<StoreHealth> {
  const listening = subscriber.up;
  try {
    await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(commandTimeout(limit)), limit);
      timer.unref();
      const end = (): void => clearTimeout(timer);
      // A command that the ACL rule of the lock permits.
      connection.client.time().then(resolve, reject).finally(end);
    });
    return { reachable: true, listening };
  } catch (error) {
    return { reachable: false, listening, problem: toCommandFailure(error).error.message };
  }
}
