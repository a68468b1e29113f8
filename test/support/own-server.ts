import { Redis } from 'ioredis';
import { startRedisServer, type RedisServer } from './redis.js';

/** A server for the tests of one file or `describe`, which may break it, and a connection for asking and telling it. */
export class OwnServer {
  server!: RedisServer;
  admin!: Redis;

  constructor(options: Parameters<typeof startRedisServer>[0] = {}) {
    beforeAll(async () => {
      this.server = await startRedisServer(options);
      this.admin = new Redis(this.server.url, { maxRetriesPerRequest: null });
      this.admin.on('error', () => undefined); // it may be killed on purpose
    });
    afterAll(async () => {
      this.admin.disconnect();
      await this.server.stop();
    });
  }

  get url(): string {
    return this.server.url;
  }

  /** Where a client finds it as a user with the password `secret`. */
  urlOf(user: string): string {
    return this.url.replace('redis://', `redis://${user}:secret@`);
  }
}
