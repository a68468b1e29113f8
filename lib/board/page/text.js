/** How the page writes what it shows. */
import { h } from './dom.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** A power of two. */
const HUES = 8;

export function duration(ms) {
  if (ms === undefined || ms === null) return '?';
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return parts(ms, MINUTE, 'min', SECOND, 's');
  return ms < DAY ? parts(ms, HOUR, 'h', MINUTE, 'min') : parts(ms, DAY, 'd', HOUR, 'h');
}

function parts(ms, large, largeName, small, smallName) {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${largeName}${rest > 0 ? ` ${rest} ${smallName}` : ''}`;
}

export function number(value) {
  return value.toLocaleString('en');
}

export function count(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

export function processName({ host, pid }) {
  return host ? `${host}:${pid}` : 'unknown process';
}

/** A dot in the colour of the process: the same in every view. */
export function dot(process) {
  let hash = 0x811c9dc5;
  for (const character of processName(process)) hash = Math.imul(hash ^ character.codePointAt(0), 0x01000193);
  return h('span', { class: `dot hue${((hash ^ (hash >>> 15)) >>> 3) & (HUES - 1)}`, 'aria-hidden': 'true' });
}

/** A process and what it does there: dot, name, label. */
export function clientName(process) {
  return h(
    'span',
    { class: 'client' },
    dot(process),
    h('span', { class: 'process' }, processName(process)),
    process.label && h('span', { class: 'label' }, process.label),
  );
}

export function lockLink(key, props = {}, ...children) {
  const content = children.length > 0 ? children : [key];
  return h('a', { href: `#/lock/${encodeURIComponent(key)}`, ...props }, ...content);
}
