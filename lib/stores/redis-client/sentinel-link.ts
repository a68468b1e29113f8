import { SentinelConnector, type Redis, type RedisOptions, type SentinelConnectionOptions } from 'ioredis';
import { DISCONNECT_TIMEOUT } from './own-options.js';

/** In ioredis 5 and 6, though not in their types. A version that names it otherwise keeps its own timeout. */
interface ConnectsToSentinels {
  connectToSentinel(endpoint: object, options?: RedisOptions): Redis;
}

/**
 * Finds the primary by sentinels as ioredis does, and gives the connections to the sentinels the `disconnectTimeout` of the
 * lock's other connections.
 *
 * ioredis gives them none, so they have its default of 2,000 ms, and it arms that timer again for sockets that are gone: an
 * application that closes would stay for up to 2 s more. There is no public option for it (docs/upstream.md). Watching the
 * sentinels by clients of our own, which has no such problem, was tried and left: ioredis then asks the next sentinel at each
 * reconnect, which may still name the old primary (test/topologies/sentinel-load.spec.ts).
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
