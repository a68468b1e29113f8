import { RedisError } from '../mini-redis/reply.js';

let scriptNames: ReadonlyMap<string, string> = new Map();

/** So that a trace can name a script by its digest. */
export function nameScripts(names: ReadonlyMap<string, string>): void {
  scriptNames = names;
}

export function describe(name: string, args: string[]): string {
  if (!name.startsWith('eval')) return `${name} ${args.join(' ')}`;
  const [script = '', count, key = ''] = args;
  const [client = '', ...rest] = args.slice(2 + Number(count));
  const known = scriptNames.get(script) ?? (name === 'eval' ? 'eval' : '?');
  return `${known} ${key} ${shorten(client)} | ${rest.map(shorten).join(' ')}`;
}

function shorten(text: string): string {
  return text === '' ? "''" : text.replace(/[0-9a-f]{32,40}/g, (id) => id.slice(0, 4)).replace(/ /g, '_');
}

export function show(reply: unknown): string {
  if (reply instanceof RedisError) return `ERROR ${reply.text}`;
  if (Array.isArray(reply)) return `[${reply.map((item) => show(item)).join(' ')}]`;
  return reply === '' ? "''" : shorten(String(reply));
}
