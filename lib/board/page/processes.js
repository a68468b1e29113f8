/** The processes that use the locks, and those that did not answer. */
import { h } from './dom.js';
import { dot, duration, number, processName } from './text.js';

/** ms of delay from which an event loop is worth a colour. */
const SLOW_LOOP = 50;

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
          h(
            'tr',
            null,
            ...[
              'Process',
              'Holds',
              'Waits',
              'Longest hold',
              'Longest wait',
              'Event loop delay',
              'Version',
            ].map((text) => h('th', { scope: 'col' }, text)),
          ),
        ),
        h('tbody', null, ...silent.map(silentRow), ...processes.map(row)),
      ),
    ),
    silent.length > 0 &&
      h(
        'p',
        { class: 'note' },
        'A process that does not answer has a blocked event loop, or is stopped, or its network is cut. Its locks stay held until their lease is over.',
      ),
  ];
}

function row(process) {
  const { clientId, holds, waits, longestHold, longestWait, eventLoopDelay, version, truncated } = process;
  return h(
    'tr',
    { key: clientId },
    h('th', { scope: 'row' }, dot(process), processName(process)),
    h('td', null, number(holds) + (truncated && holds > 0 ? '+' : '')),
    h('td', null, number(waits) + (truncated && waits > 0 ? '+' : '')),
    h('td', null, holds > 0 ? duration(longestHold) : '–'),
    h('td', null, waits > 0 ? duration(longestWait) : '–'),
    h(
      'td',
      null,
      h('span', { class: eventLoopDelay >= SLOW_LOOP ? 'badge warn' : '' }, duration(eventLoopDelay)),
    ),
    h('td', null, version),
  );
}

function silentRow(process) {
  const name = process.host ? processName(process) : process.clientId;
  return h(
    'tr',
    { key: process.clientId, class: 'silent' },
    h('th', { scope: 'row' }, dot(process), name),
    h('td', { colspan: '6' }, h('span', { class: 'badge warn' }, 'did not answer')),
  );
}
