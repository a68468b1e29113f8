/** The processes that use the locks, and those that did not respond. */
import { h } from './dom.js';
import { dot, duration, number, processName } from './text.js';

/** ms of delay from which an event loop is worth a colour. */
const SLOW_LOOP = 50;
const FIGURES = ['Holds', 'Waits', 'Longest hold', 'Longest wait', 'Event loop delay', 'Version'];

export function processesView({ overview: { processes, silent } }) {
  return [
    h('div', { class: 'tools' }, h('h1', null, 'Processes')),
    h(
      'div',
      { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Processes' },
      h(
        'table',
        null,
        h(
          'thead',
          null,
          h('tr', null, ...['Process', ...FIGURES].map((text) => h('th', { scope: 'col' }, text))),
        ),
        h('tbody', null, ...silent.map(silentRow), ...processes.map(row)),
      ),
    ),
    silent.length > 0 &&
      h(
        'p',
        { class: 'note' },
        'A process that does not respond has a blocked event loop, is stopped, or is cut off from the network. Its locks stay held until their lease expires.',
      ),
  ];
}

function row(process) {
  const { clientId, holds, waits, longestHold, longestWait, eventLoopDelay, version, truncated } = process;
  const figures = [
    number(holds) + (truncated && holds > 0 ? '+' : ''),
    number(waits) + (truncated && waits > 0 ? '+' : ''),
    holds > 0 ? duration(longestHold) : '–',
    waits > 0 ? duration(longestWait) : '–',
    h('span', { class: eventLoopDelay >= SLOW_LOOP ? 'badge warn' : '' }, duration(eventLoopDelay)),
    version,
  ];
  return h(
    'tr',
    { key: clientId },
    h('th', { scope: 'row' }, dot(process), processName(process)),
    // A phone has no room for the headings: there each figure has its own.
    ...figures.map((figure, i) => h('td', { 'data-name': FIGURES[i] }, figure)),
  );
}

function silentRow(process) {
  const name = process.host ? processName(process) : process.clientId;
  return h(
    'tr',
    { key: process.clientId, class: 'silent' },
    h('th', { scope: 'row' }, dot(process), name),
    h('td', { colspan: String(FIGURES.length) }, h('span', { class: 'badge warn' }, 'did not respond')),
  );
}
