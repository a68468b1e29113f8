/** Every time of the protocol, in ms, in one place. */
export interface Timing {
  /** L: how long Redis keeps a grant that its client does not renew. */
  readonly lease: number;
  /** W: how long a waiting client may be silent. */
  readonly window: number;
  /** C: how long a command may take. */
  readonly commandTimeout: number;
  /** H: how often a client sends a heartbeat for each lock that it holds or waits for. */
  readonly heartbeat: number;
  /** How long the hash of a released lock without waiters is kept, for repeated commands. */
  readonly rest: number;
}

export function timing(lease: number, window: number, commandTimeout: number): Timing {
  return {
    lease,
    window,
    commandTimeout,
    heartbeat: Math.min(window, lease) / 3,
    rest: 2 * commandTimeout,
  };
}
