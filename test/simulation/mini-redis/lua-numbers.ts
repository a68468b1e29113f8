import { to_luastring } from 'fengari';
import lobject from 'fengari/src/lobject.js';
import lstring from 'fengari/src/lstring.js';

/** fengari's own tostring() formats a number by "%f". */
const [PERCENT, LETTER_F] = Buffer.from('%f');

/**
 * Makes fengari count as the Lua of Redis does.
 *
 * Redis has Lua 5.1, in which every number is a double. fengari is Lua 5.3 with integers of 32 bits: a time in
 * milliseconds, multiplied as an integer, would wrap around. So texts and constants become doubles, never integers,
 * and a number becomes a text by "%.14g", without ".0" after a whole one.
 */
export function countAsRedisDoes(): void {
  lobject.luaO_str2num = (text, into) => {
    const end = text.indexOf(0);
    const bytes = end < 0 ? text : text.subarray(0, end);
    const value = parse(Buffer.from(bytes).toString('latin1'));
    if (value === undefined) return 0;
    into.setfltvalue(value);
    return bytes.length + 1;
  };
  lobject.luaO_tostring = (state, cell) => {
    cell.setsvalue(lstring.luaS_bless(state, to_luastring(format14g(cell.value))));
  };
  const pushFormatted = lobject.luaO_pushvfstring;
  lobject.luaO_pushvfstring = (state, format, values) => {
    const [value] = values;
    const ofNumber = format.length === 2 && format[0] === PERCENT && format[1] === LETTER_F;
    return ofNumber && typeof value === 'number'
      ? pushFormatted(state, to_luastring('%s'), [to_luastring(format14g(value))])
      : pushFormatted(state, format, values);
  };
}

function parse(text: string): number | undefined {
  const trimmed = text.trim();
  if (!/^[-+]?(0x[0-9a-f]+|(\d+\.?\d*|\.\d+)(e[-+]?\d+)?)$/i.test(trimmed)) return undefined;
  const negative = trimmed.startsWith('-');
  const value = Number(trimmed.replace(/^[-+]/, ''));
  return negative ? -value : value;
}

/** C's "%.14g". */
export function format14g(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (Number.isInteger(value) && Math.abs(value) < 1e14) return Object.is(value, -0) ? '-0' : String(value);
  const [mantissa = '', exponent] = value.toExponential(13).split('e');
  const power = Number(exponent);
  if (power < -4 || power >= 14) {
    const digits = mantissa.replace(/\.?0+$/, '');
    return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
  }
  return value.toFixed(13 - power).replace(/\.?0+$/, '');
}
