import type { Redis } from 'ioredis';
import type { CommandConnection } from '../commands/command-connection.js';
import { script } from '../commands/script.js';
import { tryCommands } from '../scripts/scripts.generated.js';
import { networkTrouble, refusedCredentials, toCommandFailure } from '../server/server-failure.js';
import { atMost } from '../server/time-limit.js';

const TRY_COMMANDS = script(...tryCommands);

/** The commands and rights that a store needs on its server. */
export interface RequiredCommands {
  /** A key that no lock has; commands are tried on it. */
  readonly key: string;
  /** Pattern of the store's keys and of its channels, as in an ACL rule. */
  readonly keys: string;
  readonly channels: string;
  /**
   * Commands as the store's scripts run them; KEY stands for `key`. Together they leave nothing behind. The first that writes is one that a
   * server rejects whose memory is full.
   */
  readonly commands: readonly string[];
  /** The same for messages: without them, locks are handed on late. */
  readonly messages: readonly string[];
  /** The page that lists all rights. */
  readonly page: string;
  /** What a wrong clock does to the locks of the store, in a sentence; undefined: nothing. */
  readonly wrongClock?: string;
}

/** The oldest Redis whose commands the scripts use. */
const OLDEST = 6.2;
/** A digest that no script has, to test whether the user may call scripts by digest. */
const NO_SCRIPT = '0'.repeat(40);
/** A clock that differs from that of Redis by more than this (ms) triggers a warning at startup. */
const CLOCK_TOLERANCE = 2_000;

/**
 * Calls `onWarning` if the server does not respond, otherwise with what an operator should know before the first lock is taken. To be called at
 * start, after the connections have had time to be made. Takes `limit` ms at most, and never rejects. No sentence has credentials.
 *
 * @returns whether the server did not respond
 */
export async function reportOnServer(
  connection: CommandConnection,
  subscriber: { readonly refused: boolean },
  required: RequiredCommands,
  limit: number,
  onWarning: (message: string) => void,
): Promise<boolean> {
  if (!connection.ready) {
    onWarning(aboutSilence(connection, limit));
    return true;
  }
  const missing = new Set<string>();
  if (subscriber.refused) missing.add(`+subscribe or &${required.channels}`);
  const { client } = connection;
  const nodes = 'nodes' in client ? client.nodes('master') : [client];
  const looked = Promise.all([
    Promise.all(nodes.map((node) => lookAtNode(node, required, missing))),
    tryRights(connection, required, missing),
  ]);
  const [found] = (await atMost(looked, limit)) ?? [];
  if (!found) return false;
  for (const warning of new Set([...aboutRights(missing, required), ...found.flat()])) onWarning(warning);
  return false;
}

function aboutSilence({ connectError, isSilent, usesTls }: CommandConnection, limit: number): string {
  const silent = `Redis did not respond within ${limit} ms`;
  const [what, advice, trouble] = refusedCredentials(connectError)
    ? // Between two attempts that are rejected, the client connects, too: no reason to say that the server is loading.
      ['Redis rejects the credentials of the client (NOAUTH, WRONGPASS)', 'Check user name and password']
    : isSilent
      ? [
          silent,
          'Check whether Redis runs; if it is far away, raise commandTimeout',
          'it accepts connections: it is loading its data, is stopped, or its round trip is too long for commandTimeout',
        ]
      : [silent, 'Check the address and the network', networkTrouble(connectError, usesTls)];
  return (
    `${what}${trouble ? ` (${trouble})` : ''}. The application will start, but lock requests fail with STORE_UNAVAILABLE until ` +
    `Redis is reachable. ${advice}.`
  );
}

// ---- rights --------------------------------------------------------------------------------------------------------

/** Notes which rights of a rule the user lacks. Never rejects. */
async function tryRights(
  { scripts, client }: CommandConnection,
  { key, keys, channels, commands, messages }: RequiredCommands,
  missing: Set<string>,
): Promise<void> {
  const note = (error: unknown): void => noteRefusal(missing, error, keys);
  const tried = scripts.run(TRY_COMMANDS, [key], [...commands, ...messages]).then((reply) => {
    const refused = reply as string[];
    for (let i = 0; i + 1 < refused.length; i += 2) {
      missing.add(rightFor(refused[i]!, refused[i + 1]!, keys, channels));
    }
  });
  await Promise.all([
    client.eval('return 1', 1, key).catch(note),
    client.evalsha(NO_SCRIPT, 1, key).catch(note),
    tried.catch((error: unknown) => note(toCommandFailure(error).error.cause)),
  ]);
}

function aboutRights(missing: ReadonlySet<string>, { page }: RequiredCommands): string[] {
  if (missing.size === 0) return [];
  return [
    `The Redis user lacks permissions that the lock needs: ${[...missing].join(', ')}. Lock requests will fail, or be served late, ` +
      `until you grant them (ACL SETUSER). The whole rule is in nestjs-fair-lock/${page}.`,
  ];
}

/** A command that was rejected outside a script. */
function noteRefusal(missing: Set<string>, error: unknown, keys: string): void {
  const message = error instanceof Error ? error.message : '';
  const command = /(?:the|unknown command) ['`]([^'`]+)/.exec(message)?.[1];
  if (!/NOPERM|unknown command/i.test(message)) return;
  missing.add(command ? `+${command}` : `~${keys}`);
}

/** The part of an ACL rule that a script's command wanted. */
function rightFor(command: string, message: string, keys: string, channels: string): string {
  if (/access .*\bkeys?\b/.test(message)) return `~${keys}`;
  if (/(access|publish) .*\bchannel\b/.test(message)) return `&${channels}`;
  const [name = '', subcommand] = command.toLowerCase().split(' ');
  return name === 'pubsub' ? `+${name}|${subcommand}` : `+${name}`;
}

// ---- the server ----------------------------------------------------------------------------------------------------

/** Never rejects. */
async function lookAtNode(
  node: Redis,
  { keys, wrongClock }: RequiredCommands,
  missing: Set<string>,
): Promise<string[]> {
  const info = await node.info().catch((error: unknown) => noteRefusal(missing, error, keys));
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info ?? '')?.[1] ?? '';
  const [version, policy] = [field('redis_version'), field('maxmemory_policy')];
  const warnings: string[] = [];
  if (parseFloat(version) < OLDEST)
    warnings.push(
      `Redis ${version} is too old for the scripts of the lock: they need ${OLDEST} or newer, or Valkey.`,
    );
  if (Number(field('maxmemory')) > 0 && policy !== '' && policy !== 'noeviction')
    warnings.push(
      `Redis evicts keys when its memory is full (maxmemory-policy ${policy}), including those of held locks: a second holder would enter ` +
        'while the first is still working. Set maxmemory-policy noeviction, or give the locks a separate Redis.',
    );
  if (field('role') === 'slave')
    warnings.push(
      `Redis${placeOf(node)} is a read-only replica: every lock request will fail (READONLY). Connect to the primary, or specify the ` +
        'addresses of the Sentinels or of the Cluster.',
    );
  // ioredis goes on in database 0 if its SELECT is rejected.
  const { db = 0 } = node.options;
  const selected: unknown = db === 0 || (await node.select(db).catch((error: unknown) => error));
  if (selected instanceof Error && selected.message.includes('out of range'))
    warnings.push(
      `Redis has no database ${db}, so the locks are in database 0. Use the number of an existing database, or raise the \`databases\` setting of Redis.`,
    );
  const ahead = wrongClock === undefined ? 0 : await clockDifference(node).catch(() => 0);
  if (Math.abs(ahead) > CLOCK_TOLERANCE)
    warnings.push(
      `The clocks of Redis and of this host differ by ${(Math.abs(ahead) / 1_000).toFixed(1)} s, so one of them is wrong. ${wrongClock} Synchronize both with NTP.`,
    );
  return warnings;
}

/** Sentinels name the server anew for each connection. */
function placeOf({ options: { sentinels, path, host, port } }: Redis): string {
  return sentinels ? '' : ` at ${path ?? `${host}:${port}`}`;
}

/** How far Redis is ahead of this host's wall clock, ms; exact only to the round trip time. */
async function clockDifference(node: Redis): Promise<number> {
  const before = Date.now();
  const [seconds, micros] = await node.time();
  const time = Number(seconds) * 1_000 + Number(micros) / 1_000;
  return time < before ? time - before : Math.max(0, time - Date.now());
}
