import { fitTogether, type Kind } from './kinds.js';
import { NOW } from './scales.js';
import { clientNamed, type KeyText } from './server.js';

/** A request that holds the lock, or its kept time, by the server's data. */
export interface Hold {
  /** Number of the client; -1: the lock is kept, and nobody holds it. */
  readonly client: number;
  readonly sequence: number;
  readonly kind: Kind;
  /** The token of a grant; the number of a shared hold. */
  readonly token: number;
  /** The end of its lease, ms of the server. */
  readonly end: number;
}

/** What the server's data say about the lock. */
export interface Held {
  /** Whose leases are not over. */
  readonly holds: readonly Hold[];
  readonly waiting: readonly { readonly client: number; readonly sequence: number }[];
  /** In what the data contradict themselves, or the rule. */
  readonly wrong: string | undefined;
}

export function heldOf(server: string): Held {
  const [hash, queue] = JSON.parse(server) as KeyText[];
  const fields = new Map((hash?.slice(1) ?? []) as [string, string][]);
  const state = fields.get('state') ?? '';
  const alone = state.startsWith('held') ? aloneIn(fields) : [];
  const records = [...fields].filter(([field]) => field.startsWith('held:'));
  const shares = records.flatMap(([field, record]) => sharesIn(clientNamed(field), record));
  return {
    holds: [...alone, ...shares.filter(({ isKept }) => !isKept)].filter(({ end }) => end > NOW.server),
    waiting: (queue?.slice(1) ?? []).map((pair) => {
      const [client, sequence] = String((pair as readonly [string, number])[0]).split(':');
      return { client: clientNamed(client!), sequence: Number(sequence) };
    }),
    wrong: wrongIn(fields, alone, shares),
  };
}

function aloneIn(fields: ReadonlyMap<string, string>): Hold[] {
  const client = clientNamed(fields.get('holder') ?? '');
  const end = Number(fields.get('since')) + Number(fields.get('lease'));
  const sequences = (fields.get('requests') ?? '').split(',').map(Number);
  const first = Number(fields.get('token'));
  return sequences.map((sequence, i) => ({ client, sequence, kind: 'plain', token: first + i, end }));
}

interface ShareHere extends Hold {
  readonly weight: number;
  /** Its section has ended, and its weight is kept. */
  readonly isKept: boolean;
}

function sharesIn(client: number, record: string): ShareHere[] {
  const [, renewedUntil, entries = ''] = /^end=(\d+) requests=(\S*)/.exec(record) ?? [];
  return [...entries.matchAll(/,(\d+):(\d+):(\d*):(\d+):(k?)(\d*)/g)].map((entry) => {
    const [sequence, weight, limit, token] = entry.slice(1, 5).map(Number);
    return {
      client,
      sequence: sequence!,
      kind: entry[3] === '' ? 'read' : `${weight}/${limit}`,
      token: token!,
      end: Number(entry[6] === '' ? renewedUntil : entry[6]),
      weight: weight!,
      isKept: entry[5] === 'k',
    };
  });
}

function wrongIn(
  fields: ReadonlyMap<string, string>,
  alone: readonly Hold[],
  shares: readonly ShareHere[],
): string | undefined {
  const used = shares.reduce((sum, { weight }) => sum + weight, 0);
  const counted = fields.get('state')?.startsWith('shared') ? Number(fields.get('used')) : 0;
  if (used !== counted) return `the records have the weight ${used}, and the lock counts ${counted}`;
  const kinds = [...alone.slice(0, 1), ...shares]
    .filter(({ end }) => end > NOW.server)
    .map(({ kind }) => kind);
  return fitTogether(kinds) ? undefined : `together hold ${kinds.join(' and ')}`;
}
