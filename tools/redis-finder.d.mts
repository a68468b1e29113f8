export interface FoundRedis {
  url: string;
  /** Where it came from, for people. */
  source: string;
  stop(): Promise<unknown>;
}

export interface RedisServerOptions {
  /** Put after the configuration file on the command line, for example `--sentinel`. */
  args?: string[];
  /** Directives of redis.conf; a list repeats its directive. Leave `loglevel` and `logfile` alone: the log tells when it is up. */
  config?: Record<string, string | number | string[]>;
  /** Default: a free one. */
  port?: number;
  /** The program; default: the one that is here, else a container. */
  binary?: string;
}

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** The server's own folder: redis.conf, redis.log and what it persists. Removed by `stop()`. */
  readonly dir: string;
  /** False once it was killed, or ended by itself. */
  readonly running: boolean;
  /** Default SIGKILL. Resolves when the process has gone; at once for SIGSTOP and SIGCONT. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Kills what still runs and starts again: same port, folder and configuration. */
  restart(): Promise<void>;
  /** Kills it and removes its folder. A parent that dies without this takes server and folder with it. */
  stop(): Promise<void>;
  /** Sends one command, and resolves with its answer. */
  command(name: string, ...args: string[]): Promise<unknown>;
}

/** The first that is there of: REDIS_URL, redis-server, a container, redis-server after installing it. */
export function findRedis(): Promise<FoundRedis>;

/** The path of this server program; undefined where it is not on the PATH. Installs nothing. */
export function presentBinary(name: string): string | undefined;

/** The path of redis-server or valkey-server, installed when there is none and the user is root. */
export function redisServerBinary(): Promise<string>;

/** A private server on loopback, up and loaded; no persistence unless `config` asks for it. */
export function startRedisServer(options?: RedisServerOptions): Promise<RedisServer>;

/** A loopback port that nothing listens on. */
export function freePort(): Promise<number>;
