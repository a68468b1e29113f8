import { parseArgs } from 'node:util';
import { LARGEST_NUMBER } from '../../core/options/option-domains.js';
import { isRedisAddress } from '../../setup/option-checks.js';
import { UsageError } from './exit-status.js';

const OPTIONS = {
  redis: { type: 'string' },
  cluster: { type: 'boolean', default: false },
  prefix: { type: 'string' },
  store: { type: 'string', default: 'redis' },
  orphans: { type: 'boolean' },
  timeout: { type: 'string', default: '500' },
  interval: { type: 'string' },
  count: { type: 'string' },
  token: { type: 'string' },
  holder: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false, short: 'h' },
  version: { type: 'boolean', default: false },
} as const;

/** Each command, and whether it takes a key. */
const COMMANDS = {
  ls: false,
  inspect: true,
  watch: false,
  'force-release': true,
  doctor: false,
} as const;

export type CommandName = keyof typeof COMMANDS;

/** Options that only some commands have. */
const OPTIONS_OF: { readonly [option: string]: readonly CommandName[] } = {
  orphans: ['ls', 'watch'],
  interval: ['watch'],
  count: ['watch'],
  token: ['force-release'],
  holder: ['force-release'],
};

/** The parsed command line. */
export interface Arguments {
  readonly command: CommandName;
  readonly key: string;
  readonly redis: string | undefined;
  readonly cluster: boolean;
  readonly prefix: string | undefined;
  readonly store: 'redis' | 'redisson';
  readonly orphans: boolean;
  /** ms */
  readonly timeout: number;
  /** ms */
  readonly interval: number;
  readonly count: number;
  readonly token: number;
  readonly holder: string | undefined;
  readonly json: boolean;
}

/** @throws UsageError with a sentence */
export function readArguments(args: readonly string[]): Arguments | 'help' | 'version' {
  const { values, positionals } = parse(args);
  const [name, key = ''] = positionals;
  if (values.help || name === 'help') return 'help';
  if (values.version) return 'version';
  if (name === undefined) return 'help';
  const command = commandOf(name);
  const takesKey = COMMANDS[command];
  if (takesKey && key === '') throw new UsageError(`${command} needs the key of a lock.`);
  const surplus = positionals[takesKey ? 2 : 1];
  if (surplus !== undefined)
    throw new UsageError(
      `${JSON.stringify(surplus)} is one argument too many. Put a key with spaces in quotes.`,
    );
  for (const [option, commands] of Object.entries(OPTIONS_OF)) {
    const given = values[option as keyof typeof values] !== undefined;
    if (given && !commands.includes(command))
      throw new UsageError(`--${option} is an option of ${commands.join(' and ')}, not of ${command}.`);
  }
  const { store, redis, orphans = false, interval = '1000' } = values;
  const usual = store === 'redis' ? process.env['FAIR_LOCK_PREFIX'] : undefined;
  const prefix = values.prefix ?? (usual || undefined);
  checkRedis(redis ?? process.env['REDIS_URL']);
  if (store !== 'redis' && store !== 'redisson') throw new UsageError('--store must be redis or redisson.');
  if (command === 'force-release') checkForceRelease(store, values.token, values.holder);
  return {
    ...values,
    command,
    key,
    redis,
    prefix,
    store,
    orphans,
    timeout: whole('timeout', values.timeout, LARGEST_NUMBER),
    interval: whole('interval', interval, LARGEST_NUMBER),
    count: values.count === undefined ? Infinity : whole('count', values.count),
    holder: values.holder,
    token: values.token === undefined ? 0 : whole('token', values.token),
  };
}

/** Demands a token or an id, which names the holder to take the lock from, because another may hold it by now. */
function checkForceRelease(store: Arguments['store'], token?: string, holder?: string): void {
  if (store === 'redisson' && token !== undefined)
    throw new UsageError(
      'A Redisson lock has no fencing token: use --holder with the id of the holder, as inspect shows it.',
    );
  if ((token === undefined) === (holder === undefined))
    throw new UsageError(
      'force-release needs --token, the fencing token of the holder, or --holder, the id of a holder without a token: inspect shows them.',
    );
}

/** Checks the address. The error does not repeat it, because it may contain a password. */
function checkRedis(redis = ''): void {
  if (redis === '' || isRedisAddress(redis)) return;
  throw new UsageError(
    '--redis (or REDIS_URL) must be a redis:// or rediss:// URL, as in redis://localhost:6379/0, or the path of a Unix socket.',
  );
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    // Node adds advice about arguments that begin with a dash, after a full stop or on separate lines.
    throw new UsageError(`${(error as Error).message.split(/\.\s/)[0]}.`);
  }
}

function commandOf(name: string): CommandName {
  if (Object.hasOwn(COMMANDS, name)) return name as CommandName;
  throw new UsageError(
    `Unknown command ${JSON.stringify(name)}. The commands are: ${Object.keys(COMMANDS).join(', ')}.`,
  );
}

function whole(option: string, text: string, most: number = Number.MAX_SAFE_INTEGER): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
  throw new UsageError(
    `--${option} must be a whole number from 1 to ${most}; it is ${JSON.stringify(text)}.`,
  );
}
