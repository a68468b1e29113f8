/** A table that scrolls sideways. A phone has no room for the headings: there each cell has its own. */
import { h } from './dom.js';

/** @param rows of `tableRow`, with the same columns */
export function table(name, kind, columns, rows) {
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': name },
    h(
      'table',
      { class: kind },
      h('thead', null, h('tr', null, ...columns.map((text) => h('th', { scope: 'col' }, text)))),
      h('tbody', null, ...rows),
    ),
  );
}

export function tableRow(columns, key, head, cells) {
  return h(
    'tr',
    { key },
    h('th', { scope: 'row' }, head),
    ...cells.map((cell, i) => h('td', { 'data-name': columns[i + 1] }, cell)),
  );
}
