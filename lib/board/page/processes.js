/** The processes that use the locks, and those that did not respond. */
import { h } from './dom.js';
import { table, tableRow } from './table.js';
import { dot, duration, number, processName } from './text.js';

/** ms of delay from which an event loop is worth a colour. */
const SLOW_LOOP = 50;
const COLUMNS = ['Process', 'Holds', 'Waits', 'Longest hold', 'Longest wait', 'Event loop delay', 'Version'];

export function processesView({ overview: { processes, silent } }) {
  return [
    h('div', { class: 'tools' }, h('h1', null, 'Processes')),
    table('Processes', undefined, COLUMNS, [...silent.map(silentRow), ...processes.map(row)]),
    silent.length > 0 &&
      h(
        'p',
        { class: 'note' },
        'A process that does not respond has a blocked event loop, is stopped, or is cut off from the network. Its locks stay held until their lease expires.',
        silent.some(({ clientId }) => !clientId) &&
          ' One without a name has no lock in Redis: it may have lost one, and may write when it wakes.',
      ),
  ];
}

function row(process) {
  const { clientId, holds, waits, longestHold, longestWait, eventLoopDelay, version, truncated } = process;
  return tableRow(
    COLUMNS,
    clientId,
    [dot(process), processName(process)],
    [
      number(holds) + (truncated && holds > 0 ? '+' : ''),
      number(waits) + (truncated && waits > 0 ? '+' : ''),
      holds > 0 ? duration(longestHold) : '–',
      waits > 0 ? duration(longestWait) : '–',
      h('span', { class: eventLoopDelay >= SLOW_LOOP ? 'badge warn' : '' }, duration(eventLoopDelay)),
      version,
    ],
  );
}

function silentRow(process, i) {
  const name = process.host ? processName(process) : (process.clientId ?? 'a process without a name');
  return h(
    'tr',
    { key: process.clientId ?? `silent ${i}`, class: 'silent' },
    h('th', { scope: 'row' }, dot(process), name),
    h('td', { colspan: String(COLUMNS.length - 1) }, h('span', { class: 'badge warn' }, 'did not respond')),
  );
}
