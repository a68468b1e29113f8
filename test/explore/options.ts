import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { FAMILIES } from './engine/programs.js';
import { readKind } from './kinds.js';
import { FAULT_KINDS, PLAIN, type FaultKind, type Scope } from './scope.js';

export const HELP = `npm run explore -- [options]
  --scope CxR     C clients with R requests each (default 2x2)
  --faults N      at most N faults in one history (default 2)
  --cancels N     at most N requests give up (default 1)
  --no-batch      the requests of a client never share a command
  --kinds a,b     each request is of any of these: plain, read, 1/2 for one of two permits, each also with +keep (default plain)
  --distinct      the requests of a client are of different kinds
  --free          what is on its way arrives at any later time; default: whatever overtakes it costs a fault
  --tick MS       callers act, and faults that hit nothing on its way happen, at full ticks (default ${PLAIN.tick}, half a heartbeat)
  --step MS       by how much the server's clock is set (default ${PLAIN.step})
  --lease MS      the fixed lease of the last request of each client; default: none is fixed
  --only a,b      only these faults
  --plan a,b      these faults, each once, in any order, in place of --faults
  --plans         a search for each plan of --faults, on all cores; together they visit what one search would
  --from a,b      of --plans, this one and those after it
  --minutes M     stop after so long          --states N   stop at so many states (of each plan)
  --replay FILE   the moves of FILE, one a line, step by step; - reads them from the standard input
  --ci            the scopes that are part of each check: 2x1 with one fault; 3x1 without a fault, also for readers and permits; small
                  programs of the engine
  --lib FOLDER    the library to explore (default: lib)
faults: ${FAULT_KINDS.join(' ')}

npm run explore -- --engine [options]   the engine above the store, in place of a line
  --family NAME   only the programs of one kind: ${Object.keys(FAMILIES).join(' ')}
  --program TEXT  only this one, such as "a / 0: b read / 1 via 0: acquire ab forever"
  --troubles N    at most N troubles in one history of that program (default 1)
  --hurried N     at most N moves of it that do not wait for what the one before causes (default 0)
  --minutes M     of each family      --ci, --lib FOLDER, --replay FILE with --program: as above`;

/** What this process was asked for. */
export const { values } = parseArgs({
  options: {
    scope: { type: 'string', default: '2x2' },
    faults: { type: 'string', default: '2' },
    cancels: { type: 'string', default: '1' },
    'no-batch': { type: 'boolean', default: false },
    free: { type: 'boolean', default: false },
    lease: { type: 'string' },
    tick: { type: 'string', default: String(PLAIN.tick) },
    step: { type: 'string', default: String(PLAIN.step) },
    kinds: { type: 'string', default: 'plain' },
    distinct: { type: 'boolean', default: false },
    only: { type: 'string' },
    plan: { type: 'string' },
    plans: { type: 'boolean', default: false },
    from: { type: 'string' },
    minutes: { type: 'string', default: 'Infinity' },
    states: { type: 'string', default: 'Infinity' },
    replay: { type: 'string' },
    lib: { type: 'string', default: fileURLToPath(new URL('../../lib', import.meta.url)) },
    ci: { type: 'boolean', default: false },
    engine: { type: 'boolean', default: false },
    family: { type: 'string' },
    program: { type: 'string' },
    troubles: { type: 'string', default: '1' },
    hurried: { type: 'string', default: '0' },
    help: { type: 'boolean', default: false },
  },
});

export function scopeOf(): Scope {
  const [, clients, requests] = /^([1-4])x([1-4])$/.exec(values.scope) ?? [];
  if (!clients) throw new Error(`--scope is like 2x2, not ${values.scope}`);
  const kinds = values.kinds.split(',').map(readKind);
  if (values.distinct && new Set(kinds).size < Number(requests))
    throw new Error(`--distinct needs a kind for each of the ${requests} requests, not only ${values.kinds}`);
  return {
    clients: Number(clients),
    requests: Number(requests),
    faults: Number(values.faults),
    cancels: Number(values.cancels),
    swift: !values.free,
    tick: millisecondsOf('tick', values.tick),
    step: millisecondsOf('step', values.step),
    batch: !values['no-batch'],
    kinds,
    distinct: values.distinct,
    fixedLease: values.lease === undefined ? undefined : Number(values.lease),
    only: faultsOf(values.only),
    plan: faultsOf(values.plan),
  };
}

function faultsOf(text: string | undefined): FaultKind[] | undefined {
  const kinds = text?.split(',') as FaultKind[] | undefined;
  const unknown = kinds?.find((kind) => !FAULT_KINDS.includes(kind));
  if (unknown) throw new Error(`no such fault: ${unknown}; there are ${FAULT_KINDS.join(' ')}`);
  return kinds;
}

function millisecondsOf(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`--${option} is a number of ms, not ${text}`);
  return value;
}
