import { script, type Script } from '../../redis-client/commands/script.js';
import * as shared from '../scripts/scripts.generated.js';
import type { Timing } from './timing.js';

/** How long the hash of an unreleased grant outlives its lease, ms, so that a crashed holder can be named. */
const RETENTION = 60_000;

export type ClientScripts = Readonly<Record<keyof typeof shared, Script>>;

/**
 * The scripts as one client sends them. Each begins with constants for the values that the client's options fix
 * (scripts/includes/lock.lua describes them). As arguments these would be sent, read and checked with every command. Clients with the
 * same options have the same scripts, so a server keeps them once.
 *
 * @param maxLease the longest lease of a strict client, ms; undefined: not strict
 */
export function scriptsOfClient(times: Timing, maxLease: number | undefined): ClientScripts {
  const window = Math.round(times.window);
  const lease = Math.round(times.lease);
  const rest = Math.round(times.rest);
  // A waiter that died just now blocks the lock for one window at most.
  const firstLease = Math.min(window, lease);
  const constants = {
    WINDOW: window,
    LEASE: lease,
    REST: rest,
    RETENTION,
    STRICT: maxLease ?? 'nil',
    LEASE_TEXT: `'${lease}'`,
    REST_TEXT: `'${rest}'`,
    LEASE_LIFE: `'${lease + RETENTION}'`,
    FIRST_LEASE_TEXT: `'${firstLease}'`,
    FIRST_LEASE_LIFE: `'${firstLease + RETENTION}'`,
  };
  const head = `local ${Object.keys(constants).join(', ')} = ${Object.values(constants).join(', ')}`;
  const own = Object.entries(shared).map(([key, [name, numberOfKeys, ...parts]]) => [
    key,
    script(name, numberOfKeys, head, ...parts),
  ]);
  return Object.fromEntries(own) as ClientScripts;
}
