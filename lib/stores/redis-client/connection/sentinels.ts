import { Redis, type RedisOptions, type SentinelAddress } from 'ioredis';
import { LOOK_UP_TIMEOUT, OWN_OPTIONS } from './own-options.js';

/** The channel on which a sentinel announces that another server is the primary now. */
const SWITCH_MASTER = '+switch-master';
const SENTINEL_PORT = 26_379;
/** How long to wait for the other sentinels after the first answer, ms: one of them may know of a later failover. */
const ANSWER_GRACE = 200;

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What a sentinel says of a primary. */
export interface SentinelAnswer {
  readonly primary: Address;
  /** Rises with every failover; 0 where the sentinel does not permit `SENTINEL MASTER`. */
  readonly epoch: number;
  /** The other sentinels that it knows and reaches. */
  readonly others: readonly Address[];
}

/**
 * Asks all sentinels at once for the primary called `options.name`.
 *
 * @returns the answer after the latest failover; undefined where no sentinel names a primary, or `signal` was aborted
 * @throws the last error, where no sentinel could be asked
 */
export async function askSentinels(
  sentinels: readonly Partial<SentinelAddress>[],
  options: RedisOptions,
  signal: AbortSignal,
): Promise<SentinelAnswer | undefined> {
  const clients = sentinels.map((address) =>
    connectTo(address, options, {
      enableOfflineQueue: true,
      retryStrategy: null,
      commandTimeout: LOOK_UP_TIMEOUT,
    }),
  );
  const answers: SentinelAnswer[] = [];
  const errors: unknown[] = [];
  let grace: NodeJS.Timeout | undefined;
  let end = (): void => undefined;
  await new Promise<void>((resolve) => {
    end = () => resolve();
    signal.addEventListener('abort', end);
    const answered = (answer: SentinelAnswer | undefined): void => {
      if (!answer) return;
      answers.push(answer);
      grace ??= setTimeout(resolve, ANSWER_GRACE);
    };
    const asked = clients.map((client) => {
      // If the connection cannot be made, commands fail only with "closed"; the cause is in this event.
      let connectError: unknown;
      client.on('error', (error) => (connectError = error));
      return ask(client, options.name ?? '').then(
        answered,
        (error: unknown) => void errors.push(connectError ?? error),
      );
    });
    void Promise.all(asked).then(() => resolve());
  });
  clearTimeout(grace);
  // The signal lasts for many attempts, and this listener keeps the clients of this one.
  signal.removeEventListener('abort', end);
  for (const client of clients) client.disconnect();
  if (errors.length === clients.length && !signal.aborted) throw errors.at(-1);
  return answers.sort((a, b) => b.epoch - a.epoch)[0];
}

/**
 * Listens to all sentinels for another server that becomes the primary called `options.name`.
 *
 * @returns ends the listening: `onSwitch` is not called any more
 */
export function watchSentinels(
  sentinels: readonly Partial<SentinelAddress>[],
  options: RedisOptions,
  onSwitch: (primary: Address) => void,
): () => void {
  const clients = sentinels.map((address) => connectTo(address, options));
  let stopped = false;
  for (const client of clients) {
    // Not retried: a sentinel that refuses once refuses again, and the others announce the failover.
    client.on('ready', () => void client.subscribe(SWITCH_MASTER).catch(() => undefined));
    client.on('message', (_channel, announcement) => {
      const [name, , , host = '', port] = announcement.split(' ');
      if (name === options.name && !stopped) onSwitch({ host, port: Number(port) });
    });
  }
  return () => {
    stopped = true;
    for (const client of clients) client.disconnect();
  };
}

function connectTo(address: Partial<SentinelAddress>, options: RedisOptions, own: RedisOptions = {}): Redis {
  const client = new Redis({
    ...OWN_OPTIONS,
    lazyConnect: false,
    enableReadyCheck: false,
    host: address.host,
    port: Number(address.port ?? SENTINEL_PORT),
    family: address.family ?? options.family,
    username: options.sentinelUsername,
    password: options.sentinelPassword,
    tls: options.sentinelTLS,
    protocol: options.protocol,
    ...own,
    replyMapping: 'legacy',
  });
  client.on('error', () => undefined);
  return client;
}

/** Sends the three commands together, so that the epoch belongs to the address. */
async function ask(client: Redis, name: string): Promise<SentinelAnswer | undefined> {
  const [address, primary, others] = await Promise.all([
    client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name) as Promise<[string, string] | null>,
    fieldsOf(client, 'MASTER', name).then(([fields]) => fields),
    fieldsOf(client, 'SENTINELS', name),
  ]);
  if (!address) return undefined;
  return {
    primary: { host: address[0], port: Number(address[1]) },
    epoch: Number(primary?.get('config-epoch') ?? 0),
    others: others
      .filter((other) => !other.get('flags')?.includes('disconnected'))
      .map((other) => ({ host: other.get('ip') ?? '', port: Number(other.get('port')) })),
  };
}

/** Empty if the sentinel does not permit the command. */
async function fieldsOf(
  client: Redis,
  command: 'MASTER' | 'SENTINELS',
  name: string,
): Promise<Map<string, string>[]> {
  const reply = await client.call('SENTINEL', command, name).catch(() => []);
  const entries = (command === 'MASTER' ? [reply] : reply) as string[][];
  return entries.map(
    (entry) => new Map(entry.flatMap((key, i) => (i % 2 === 0 ? [[key, entry[i + 1] ?? '']] : []))),
  );
}
