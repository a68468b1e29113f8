/** All locks, the longest wait first. */
import { h } from './dom.js';
import { count, duration, lockLink, number, clientName, who } from './text.js';

const MOST_PIPS = 10;
/** Rows that are drawn whole before the browser reports which are near. */
const FIRST_ROWS = 30;
const REPORTS_WHAT_IS_NEAR = 'oncontentvisibilityautostatechange' in document.body;
/** The keys of the rows that are on the screen or close to it. */
const near = new Set();
/** The other rows, by key: they stay what they are. */
let farRows = new Map();

export function locksView(state, actions) {
  const { overview, filter } = state;
  const wanted = filter.trim().toLowerCase();
  const fits = ({ key, holder }) =>
    wanted === '' || `${key} ${holder ? who(holder) : ''}`.toLowerCase().includes(wanted);
  const locks = overview.locks.filter(fits);
  const longest = Math.max(1, ...locks.map(({ longestWait }) => longestWait));
  return [
    h(
      'div',
      { class: 'tools' },
      h('h1', null, 'Locks'),
      h('input', {
        id: 'filter',
        type: 'search',
        placeholder: 'Filter by key, process or label',
        'aria-label': 'Filter by key, process or label',
        'aria-keyshortcuts': '/',
        oninput: (event) => actions.filter(event.target.value),
      }),
    ),
    locks.length === 0
      ? h(
          'p',
          { class: 'empty' },
          wanted === '' ? 'No lock is held, and no call is waiting for one.' : 'No lock matches the filter.',
        )
      : [
          h(
            'div',
            { class: 'row head', 'aria-hidden': 'true' },
            ...['Lock', 'Holder', 'Held for', 'Waiting', 'Longest wait'].map((text) => h('span', null, text)),
          ),
          h(
            'ol',
            {
              class: 'rows',
              oncontentvisibilityautostatechange: ({ target, skipped }) => {
                near[skipped ? 'delete' : 'add'](target.dataset.key);
                actions.redraw();
              },
            },
            ...rows(locks, longest),
          ),
        ],
    overview.moreLocks > 0 &&
      h('p', { class: 'note' }, `${count(overview.moreLocks, 'more lock')} with shorter waits not shown.`),
  ];
}

function rows(locks, longest) {
  const before = farRows;
  farRows = new Map();
  return locks.map((lock, index) => {
    const { key } = lock;
    if (isNear(key, index)) return row(lock, longest);
    const far = before.get(key) ?? farRow(key);
    farRows.set(key, far);
    return far;
  });
}

/** A thousand rows may change each second, so only those that are near are drawn whole. */
function isNear(key, index) {
  return !REPORTS_WHAT_IS_NEAR || index < FIRST_ROWS || near.has(key);
}

/** A row without anything that changes. The browser's search finds its key, and Tab reaches its link. */
function farRow(key) {
  return h('li', { key, 'data-key': key }, lockLink(key, { class: 'row' }, h('span', { class: 'key' }, key)));
}

function row({ key, holder, others, keptFor, waiting, longestWait }, longest) {
  return h(
    'li',
    { key, 'data-key': key },
    lockLink(
      key,
      { class: 'row' },
      h('span', { class: 'key' }, key),
      h(
        'span',
        { class: 'holder' },
        !holder && keptFor !== undefined && `kept for another ${duration(keptFor)}`,
        holder && [clientName(holder), badge(holder.state)],
        others > 0 && ` and ${count(others, 'other')}`,
      ),
      h('span', { class: 'time held' }, holder ? duration(holder.heldFor) : ''),
      h(
        'span',
        { class: 'waiting' },
        waiting > 0 && pips(waiting),
        h('span', { class: 'n' }, number(waiting)),
      ),
      h(
        'span',
        { class: 'time wait', '--share': waiting > 0 ? (longestWait / longest).toFixed(3) : '0' },
        waiting > 0 ? duration(longestWait) : '',
      ),
    ),
  );
}

/** Every state but the usual one. */
export function badge(state) {
  const texts = {
    uncertain: 'uncertain',
    lost: 'lost',
    silent: 'does not respond',
    gone: 'its process is gone',
    skipped: 'no sign of life, skipped',
    dead: 'no sign of life',
  };
  return (
    texts[state] &&
    h('span', { class: `badge ${['lost', 'gone'].includes(state) ? 'bad' : 'warn'}` }, texts[state])
  );
}

/** A dot for each of the first waiters, in one element: a thousand rows are shown together. */
function pips(waiting) {
  return h('span', { class: 'pips', 'aria-hidden': 'true', '--n': Math.min(waiting, MOST_PIPS) });
}
