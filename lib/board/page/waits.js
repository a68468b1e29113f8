/** The longest waits of all locks: who waits for which lock since when, and who holds it. */
import { h } from './dom.js';
import { badge } from './locks.js';
import { table, tableRow } from './table.js';
import { clientName, count, duration, lockLink } from './text.js';

const COLUMNS = ['Lock', 'Waiter', 'Waiting for', 'Holder', 'Held for'];

export function waitsView({ overview: { waits, locks, totals } }) {
  const lockOf = new Map(locks.map((lock) => [lock.key, lock]));
  const more = totals.waiting - waits.length;
  return [
    h('div', { class: 'tools' }, h('h1', null, 'Longest waits')),
    waits.length === 0
      ? h('p', { class: 'empty' }, 'No call is waiting for a lock.')
      : table(
          'Longest waits',
          'waits',
          COLUMNS,
          waits.map((wait) => row(wait, lockOf.get(wait.key) ?? {})),
        ),
    more > 0 && h('p', { class: 'note' }, `${count(more, 'more call')} with shorter waits not shown.`),
  ];
}

function row({ key, waitingFor, id, live, silent, ...waiter }, { holder, others }) {
  return tableRow(COLUMNS, id, lockLink(key, { class: 'key' }), [
    [clientName(waiter), badge(live ? (silent ? 'silent' : 'held') : 'skipped')],
    duration(waitingFor),
    holder
      ? [clientName(holder), badge(holder.state), others > 0 && ` and ${count(others, 'other')}`]
      : 'none',
    holder ? duration(holder.heldFor) : '',
  ]);
}
