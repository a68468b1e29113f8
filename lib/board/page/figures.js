/** The figures at the top, and how two of them went during the last minutes. */
import { h } from './dom.js';
import { duration, number, SPAN } from './text.js';

const WIDTH = 300;
const HEIGHT = 44;

export function figures({ overview, history }) {
  const { totals, processes, silent } = overview;
  const now = history.at(-1)?.at ?? 0;
  return h(
    'section',
    { key: 'figures', class: 'figures', 'aria-label': 'Figures' },
    figure('Held', number(totals.held)),
    figure('Waiting', number(totals.waiting), course(history, now, 'waiting', number, 'Waiting')),
    figure(
      'Longest wait',
      duration(totals.longestWait),
      course(history, now, 'longestWait', duration, 'Longest wait'),
    ),
    figure(
      'Processes',
      number(processes.length),
      silent.length > 0 && h('small', null, `${number(silent.length)} silent`),
    ),
  );
}

function figure(name, value, more) {
  return h('div', { class: 'figure' }, h('h2', null, name), h('p', null, value), more);
}

/** A line of the last minutes; the right edge is now. */
function course(history, now, field, write, name) {
  const most = Math.max(1, ...history.map((sample) => sample[field]));
  const x = ({ at }) => (WIDTH - ((now - at) / SPAN) * WIDTH).toFixed(1);
  const y = (sample) => (HEIGHT - 2 - (sample[field] / most) * (HEIGHT - 6)).toFixed(1);
  const points = history.map((sample) => `${x(sample)} ${y(sample)}`).join('L');
  const [first] = history;
  const title = `${name} during the last 5 minutes: at most ${write(most)}`;
  return h(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': title },
    h('title', null, title),
    h('path', { class: 'ground', d: `M0 ${HEIGHT - 1}H${WIDTH}` }),
    first && h('path', { class: 'area', d: `M${x(first)} ${HEIGHT}L${points}L${WIDTH} ${HEIGHT}Z` }),
    first && h('path', { class: 'course', d: `M${points}` }),
  );
}
