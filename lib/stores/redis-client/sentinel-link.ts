import { SentinelConnector, type Redis, type RedisOptions, type SentinelConnectionOptions } from 'ioredis';
import { DISCONNECT_TIMEOUT } from './own-options.js';

/** In ioredis 5 and 6, though not in their types. One that calls it otherwise would go on as it is used to. */
interface ConnectsToSentinels {
  connectToSentinel(endpoint: object, options?: RedisOptions): Redis;
}

/**
 * Finds the primary by sentinels as ioredis does, but leaves these as soon as every other connection of the lock.
 *
 * ioredis gives its clients of the sentinels no disconnectTimeout, so they have its default of 2,000 ms. It disconnects
 * some of them twice, and arms that timer the second time for a socket that is gone already and will not clear it. So
 * an application that closes would stay for up to 2 s more.
 */
export class SentinelLink extends SentinelConnector {
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
    const own = this as unknown as ConnectsToSentinels;
    const connect = own.connectToSentinel.bind(this);
    own.connectToSentinel = (endpoint, more) =>
      connect(endpoint, { ...more, disconnectTimeout: DISCONNECT_TIMEOUT });
  }
}
