import type { CommandFailure } from '../server/server-failure.js';
import type { ScriptRunner } from './script.js';

/** The ways to send a script. */
interface Scripts extends ScriptRunner {
  /** As `run`, once: rejects with `UnknownScript` if the server does not have the script. */
  readonly runOnce: ScriptRunner['run'];
  /** As `runOnce`, and tells nobody of its outcome. */
  readonly runNow: ScriptRunner['run'];
}

/**
 * All that a store asks of the client library for its commands. `CommandConnection` puts ioredis behind it. For messages there is
 * `Subscriber`, whose public part is as small.
 */
export interface CommandLink {
  readonly scripts: Scripts;
  /** Whether commands can be sent now. */
  readonly ready: boolean;
  readonly isCluster: boolean;
  /** Until then (monotonic ms) commands are repeated even if their time is up: the connection was idle, and then dead. */
  readonly graceUntil: number;
  /** Why a command cannot be sent now: the failure that it would have. */
  notSent(): CommandFailure;
  /** What a request is told that has waited for `waitTime` ms without a reply. */
  unanswered(waitTime: number): CommandFailure;
  /** Called after each connect; on Redis Cluster after that of each node, and when other nodes may serve some slots. */
  onConnected: (() => void) | undefined;
  /** Called after each loss of a connection. */
  onClosed: (() => void) | undefined;

  /** Begins to connect unless it has begun already. A failure is not an error here: it tries again. */
  connect(): void;

  /** Resolves when commands can be sent, or after `limit` ms. Does not keep the process alive. */
  whenReady(limit: number): Promise<void>;

  /** Resolves with how many connections the server counts at the channel; undefined: it counts only some, as a Cluster node. */
  publish(channel: string, text: string): Promise<number | undefined>;

  /** Resolves with how many replicas have what this connection wrote, after `timeout` ms at most. */
  wait(min: number, timeout: number): Promise<number>;

  /** Drops the connection, which may be half open, and makes a new one. */
  reconnect(): void;

  close(limit: number): Promise<void>;
}
