/** How the page writes what it shows. */
import { h } from './dom.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** ms of the past that the page shows. */
export const SPAN = 5 * MINUTE;
const HUES = ['#4f7fd9', '#2aa58c', '#d98e2b', '#a568d0', '#d65d84', '#7f9a36', '#3aa3c7', '#b8735a'];
/** Of a longer key, processes report the beginning and a digest. */
const LONGEST_KEY = 1_024;

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
  return host ? `${host}/${pid}` : 'unknown process';
}

/** By process, in the order in which the page first named them: up to eight have different colours. */
const hues = new Map();

/** A dot in the colour of the process: the same in every view. */
export function dot(process) {
  const name = processName(process);
  if (!hues.has(name)) hues.set(name, HUES[hues.size % HUES.length]);
  return h('span', { class: 'dot', '--hue': hues.get(name), 'aria-hidden': 'true' });
}

/** A process and what it does there, as logs and errors write it: `web-1/4711/OrdersService.pay`. */
export function who(client) {
  return processName(client) + ofProcess(client);
}

/** The same with the colour of the process. */
export function clientName(client) {
  return h(
    'span',
    { class: 'client' },
    dot(client),
    h('span', { class: 'who' }, processName(client), h('span', { class: 'label' }, ofProcess(client))),
  );
}

function ofProcess({ host, label }) {
  return label ? `${host ? '/' : ' '}${label}` : '';
}

/**
 * Leads to the queue of the lock. It leads nowhere where the key is not the whole key, because the process cut it, and where no address
 * can hold it, because it has half of a surrogate pair.
 */
export function lockLink(key, props = {}, ...children) {
  const content = children.length > 0 ? children : [key];
  const href =
    key.length > LONGEST_KEY || /\p{Surrogate}/u.test(key) ? undefined : `#/lock/${encodeURIComponent(key)}`;
  return h('a', { href, ...props }, ...content);
}
