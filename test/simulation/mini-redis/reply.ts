/** What a command answers, before it is put on a wire or into Lua. */
export type Reply = number | string | null | Status | RedisError | Reply[];

export class Status {
  constructor(readonly text: string) {}
}

export class RedisError {
  constructor(readonly text: string) {}
}

export const OK = new Status('OK');
export const WRONG_TYPE = new RedisError('WRONGTYPE Operation against a key holding the wrong kind of value');
export const NOT_AN_INTEGER = new RedisError('ERR value is not an integer or out of range');
export const NOT_A_FLOAT = new RedisError('ERR value is not a valid float');
export const NOT_A_BOUND = new RedisError('ERR min or max is not a float');
export const SYNTAX_ERROR = new RedisError('ERR syntax error');
export const NO_CHANNELS = new RedisError(
  'NOPERM this user has no permissions to access one of the channels used as arguments',
);

/** A number as Redis writes it. */
export function formatNumber(value: number): string {
  if (value === Infinity) return 'inf';
  if (value === -Infinity) return '-inf';
  if (Number.isInteger(value) && Math.abs(value) < 1e17) return String(value);
  // %.17g
  const text = value.toPrecision(17);
  return text.includes('e') ? text : text.replace(/\.?0+$/, '');
}
