import type { Cluster, Redis } from 'ioredis';
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
  /** Commands as the store's scripts run them; KEY stands for `key`. Together they leave nothing behind. */
  readonly commands: readonly string[];
  /** The page that lists all rights. */
  readonly page: string;
  /** What a wrong clock does to the locks of the store, in a sentence. */
  readonly wrongClock: string;
}

/** The oldest Redis whose commands the scripts use. */
const OLDEST = [6, 2] as const;
/** A digest that no script has, to test whether the user may call scripts by digest. */
const NO_SCRIPT = '0'.repeat(40);
/** A host whose clock differs from that of Redis by more than this (ms) is warned of at start. */
const CLOCK_TOLERANCE = 2_000;

/**
 * Calls `onWarning` if the server does not answer, else with what `lookAtServer` finds within `limit` ms. To be called at start, after
 * the connections have had time to be made. Never rejects.
 */
export async function reportOnServer(
  connection: CommandConnection,
  subscriber: { readonly refused: boolean },
  required: RequiredCommands,
  limit: number,
  onWarning: (message: string) => void,
): Promise<void> {
  if (!connection.ready) {
    const { connectError, client } = connection;
    const waiting = 'it accepts connections: it loads its data, or is stopped';
    const trouble = client.status === 'connect' ? waiting : networkTrouble(connectError);
    const [what, advice] = refusedCredentials(connectError)
      ? ['Redis refuses the credentials of the client (NOAUTH, WRONGPASS)', 'Check user name and password']
      : [`Redis did not answer within ${limit} ms`, 'Check the address and the network'];
    onWarning(
      `${what} at start${trouble ? ` (${trouble})` : ''}. The application starts all the same; until there is a connection, every request for a lock fails ` +
        `with STORE_UNAVAILABLE. ${advice}.`,
    );
    return;
  }
  const found = lookAtServer(connection, required, subscriber.refused);
  for (const warning of (await atMost(found, limit)) ?? []) onWarning(warning);
}

/**
 * Finds what an operator should know before the first lock is taken: missing rights, keys that may be evicted, a server that is too
 * old or a replica, a wrong clock. Returns sentences without credentials. Never rejects.
 */
async function lookAtServer(
  connection: CommandConnection,
  required: RequiredCommands,
  subscriptionRefused: boolean,
): Promise<string[]> {
  const missing = new Set<string>();
  if (subscriptionRefused) missing.add(`+subscribe or &${required.channels}`);
  const note = (error: unknown): void => noteRefusal(missing, error, required.keys);
  const [found] = await Promise.all([
    Promise.all(nodesOf(connection.client).map((node) => lookAtNode(node, required, note))),
    tryRights(connection, required, missing, note),
  ]);
  return [...aboutRights(missing, required), ...new Set(found.flat())];
}

function nodesOf(client: Redis | Cluster): Redis[] {
  return 'nodes' in client ? client.nodes('master') : [client];
}

// ---- rights --------------------------------------------------------------------------------------------------------

async function tryRights(
  connection: CommandConnection,
  { key, keys, channels, commands }: RequiredCommands,
  missing: Set<string>,
  note: (error: unknown) => void,
): Promise<void> {
  const tried = connection.scripts.run(TRY_COMMANDS, [key], commands).then((reply) => {
    const refused = reply as string[];
    for (let i = 0; i + 1 < refused.length; i += 2) {
      missing.add(rightFor(refused[i]!, refused[i + 1]!, keys, channels));
    }
  });
  await Promise.all([
    connection.client.eval('return 1', 1, key).catch(note),
    connection.client.evalsha(NO_SCRIPT, 1, key).catch(note),
    tried.catch((error: unknown) => note(toCommandFailure(error).error.cause)),
  ]);
}

function aboutRights(missing: ReadonlySet<string>, { page }: RequiredCommands): string[] {
  if (missing.size === 0) return [];
  return [
    `The Redis user lacks rights that the lock needs: ${[...missing].join(', ')}. Requests for locks will fail, or be served late, ` +
      `until they are granted (ACL SETUSER); ${page} has the whole rule.`,
  ];
}

/** A command that was refused outside a script. */
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
  return name === 'pubsub' ? `+${name}|${subcommand?.toLowerCase()}` : `+${name}`;
}

// ---- the server ----------------------------------------------------------------------------------------------------

/** @param note is called with what the server refuses to show */
async function lookAtNode(
  node: Redis,
  required: RequiredCommands,
  note: (error: unknown) => void,
): Promise<string[]> {
  const [info, difference, database] = await Promise.all([
    node.info().catch((error: unknown) => {
      note(error);
      return '';
    }),
    clockDifference(node).catch(() => 0),
    aboutDatabase(node),
  ]);
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? '';
  return [
    aboutVersion(field('redis_version')),
    aboutMemory(field('maxmemory'), field('maxmemory_policy')),
    aboutRole(field('role')),
    aboutClock(difference, required),
    database,
  ].filter((warning) => warning !== undefined);
}

function aboutVersion(version: string): string | undefined {
  // The version is empty where INFO was refused.
  const [major = NaN, minor = NaN] = version.split('.').map(parseFloat);
  if (!(major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))) return undefined;
  return `Redis ${version} is too old for the lock's scripts: it needs ${OLDEST.join('.')} or newer, or Valkey.`;
}

function aboutMemory(limit: string, policy: string): string | undefined {
  if (limit === '' || limit === '0' || policy === 'noeviction' || policy === '') return undefined;
  return (
    `Redis evicts keys when its memory is full (maxmemory-policy ${policy}), also keys of held locks: a second holder would be let in ` +
    'while the first still works. Set maxmemory-policy noeviction, or give the locks a separate Redis.'
  );
}

function aboutRole(role: string): string | undefined {
  if (role !== 'slave') return undefined;
  return (
    'This Redis is a read-only replica: every request for a lock will fail (READONLY). Connect to the primary, or give the ' +
    'addresses of the Sentinels or of the Cluster.'
  );
}

/** Warns of a wrong database: ioredis goes on in database 0 if its SELECT is refused. */
async function aboutDatabase(node: Redis): Promise<string | undefined> {
  const { db = 0 } = node.options;
  if (db === 0) return undefined;
  const error: unknown = await node.select(db).catch((reason: unknown) => reason);
  if (!(error instanceof Error) || !/out of range/.test(error.message)) return undefined;
  return `Redis has no database ${db}, so the locks are in database 0. Give the number of one that it has, or set its \`databases\` higher.`;
}

function aboutClock(difference: number, { wrongClock }: RequiredCommands): string | undefined {
  if (Math.abs(difference) < CLOCK_TOLERANCE) return undefined;
  return (
    `The clocks of Redis and of this host differ by ${(difference / 1_000).toFixed(1)} s, so one of them is wrong. ` +
    `${wrongClock} Let NTP keep both.`
  );
}

/** How far Redis is ahead of this host's wall clock, ms; exact only to the round trip time. */
async function clockDifference(node: Redis): Promise<number> {
  const before = Date.now();
  const [seconds, micros] = await node.time();
  const after = Date.now();
  const time = Number(seconds) * 1_000 + Number(micros) / 1_000;
  if (time < before) return time - before;
  return time > after ? time - after : 0;
}
