import { Redis, type RedisOptions, type SentinelAddress } from 'ioredis';
import { limitHandshake } from './handshake-limit.js';
import { CONNECT_TIMEOUT, OWN_OPTIONS } from './own-options.js';

/** The channel on which a sentinel announces that another server is the primary now. */
const SWITCH_MASTER = '+switch-master';
const SENTINEL_PORT = 26_379;

/**
 * Reconnects a client that found its server by sentinels when one of these announces another primary: a frozen one does
 * not close its connections, and would serve the client again when it wakes up.
 *
 * It is for clients that the user's own function made without `failoverDetector`, the option of ioredis that does this best: at a
 * reconnect it asks the sentinel first that named the primary before.
 */
export function watchFailovers(client: Redis): void {
  const { name, sentinels, failoverDetector } = client.options;
  if (!sentinels || failoverDetector) return;
  let watches: Redis[] = [];
  const stop = (): void => {
    for (const watch of watches) watch.disconnect();
    watches = [];
  };
  const onSwitch = (_channel: string, announcement: string): void => {
    if (announcement.split(' ', 1)[0] !== name) return;
    stop();
    client.disconnect(true);
  };
  // Before it is ready: a frozen server accepts connections, too, and may wake up while the client waits for its reply.
  client.on('connect', () => {
    stop();
    watches = sentinels.map((address) => connectTo(address, client.options).on('message', onSwitch));
  });
  client.on('close', stop);
}

function connectTo(address: Partial<SentinelAddress>, options: RedisOptions): Redis {
  const watch = new Redis({
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
    replyMapping: 'legacy',
  });
  limitHandshake(watch, CONNECT_TIMEOUT);
  watch.on('error', () => undefined);
  // A sentinel that refuses will refuse again; the others announce the failover.
  watch.on('ready', () => void watch.subscribe(SWITCH_MASTER).catch(() => undefined));
  return watch;
}
