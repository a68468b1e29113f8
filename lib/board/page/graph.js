/** The sections that wait while they hold: an arrow from the lock that is held to the lock that is waited for. */
import { h } from './dom.js';
import { count, duration, lockLink, clientName, processName } from './text.js';

const WIDTH = 190;
const HEIGHT = 54;
const GAP_X = 90;
const GAP_Y = 22;
const MARGIN = 10;
const MOST_LETTERS = 22;

export function graphView({ overview: { edges, cycles, locks } }) {
  const red = new Set(
    cycles.flatMap(({ steps }) => steps.map(({ holds, waitsFor }) => pair(holds, waitsFor))),
  );
  return [
    h('div', { class: 'tools' }, h('h1', null, 'Sections that hold and wait')),
    edges.length === 0
      ? h('p', { class: 'empty' }, 'No section that holds a lock is waiting for another one.')
      : [
          ...cycles.map(cycleText),
          h(
            'p',
            { class: 'note' },
            'An arrow leads from a lock that a section holds to the lock it is waiting for.',
          ),
          h(
            'div',
            { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Graph of waits' },
            drawing(edges, red, locks),
          ),
        ],
  ];
}

function cycleText({ steps }) {
  return h(
    'div',
    { class: 'alert bad cycle' },
    h(
      'p',
      null,
      h('b', null, `${count(steps.length, 'section')} wait for each other. `),
      'Each continues when its wait times out.',
    ),
    h(
      'ol',
      null,
      ...steps.map((step) =>
        h(
          'li',
          null,
          clientName(step),
          ' holds ',
          lockLink(step.holds, { class: 'chip' }),
          ' and waits for ',
          lockLink(step.waitsFor, { class: 'chip' }),
        ),
      ),
    ),
  );
}

function drawing(edges, red, locks) {
  const places = layout(edges);
  const known = new Map(locks.map((lock) => [lock.key, lock]));
  const nodes = [...places];
  const width = Math.max(...nodes.map(([, { x }]) => x)) + WIDTH + MARGIN;
  const height = Math.max(...nodes.map(([, { y }]) => y)) + HEIGHT + MARGIN + 30;
  return h(
    'svg',
    { class: 'graph', width, height, viewBox: `0 0 ${width} ${height}` },
    h('defs', null, marker('arrow'), marker('arrow-red')),
    ...edges.map((edge) => arrow(edge, places, red.has(pair(edge.from, edge.to)))),
    ...nodes.map(([key, place]) =>
      node(
        key,
        place,
        known.get(key),
        edges.some(({ from, to }) => (from === key || to === key) && red.has(pair(from, to))),
      ),
    ),
  );
}

function pair(from, to) {
  return JSON.stringify([from, to]);
}

/** Columns by the longest way that leads to a lock; an edge that closes a circle does not count. */
function layout(edges) {
  const next = new Map();
  for (const { from, to } of edges) {
    next.set(from, [...(next.get(from) ?? []), to]);
    if (!next.has(to)) next.set(to, []);
  }
  const column = new Map();
  const path = new Set();
  const visit = (key, at) => {
    if (path.has(key) || (column.get(key) ?? -1) >= at) return;
    column.set(key, at);
    path.add(key);
    for (const other of next.get(key)) visit(other, at + 1);
    path.delete(key);
  };
  const aims = new Set(edges.map(({ to }) => to));
  for (const key of next.keys()) if (!aims.has(key)) visit(key, 0);
  for (const key of next.keys()) if (!column.has(key)) visit(key, 0);
  const rows = [];
  return new Map(
    [...column].map(([key, at]) => {
      const row = (rows[at] = (rows[at] ?? -1) + 1);
      return [key, { x: MARGIN + at * (WIDTH + GAP_X), y: MARGIN + row * (HEIGHT + GAP_Y) }];
    }),
  );
}

function node(key, { x, y }, lock, red) {
  const holder = lock?.holder;
  return lockLink(
    key,
    { key: `node ${key}`, class: red ? 'node red' : 'node' },
    h('title', null, key),
    h('rect', { x, y, width: WIDTH, height: HEIGHT, rx: 10 }),
    h('text', { x: x + 14, y: y + 23, class: 'name' }, short(key)),
    h('text', { x: x + 14, y: y + 41 }, short(holder ? processName(holder) : 'holder unknown')),
    lock?.waiting > 0 &&
      h('text', { x: x + WIDTH - 12, y: y + 41, 'text-anchor': 'end' }, `${lock.waiting} waiting`),
  );
}

function arrow({ from, to, flows, waitingFor }, places, red) {
  const a = places.get(from);
  const b = places.get(to);
  const forward = b.x > a.x;
  const [x1, y1] = forward ? [a.x + WIDTH, a.y + HEIGHT / 2] : [a.x + WIDTH / 2, a.y + HEIGHT];
  const [x2, y2] = forward ? [b.x - 3, b.y + HEIGHT / 2] : [b.x + WIDTH / 2, b.y + HEIGHT + 3];
  const bend = forward
    ? `${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2}`
    : `${x1} ${y1 + 44} ${x2} ${y2 + 44}`;
  const middle = forward ? [(x1 + x2) / 2, (y1 + y2) / 2 - 7] : [(x1 + x2) / 2, Math.max(y1, y2) + 28];
  const text = flows > 1 ? `${flows} × ${duration(waitingFor)}` : duration(waitingFor);
  return h(
    'g',
    { key: pair(from, to), class: red ? 'edge red' : 'edge' },
    h('path', {
      d: `M${x1} ${y1}C${bend} ${x2} ${y2}`,
      'marker-end': `url(#${red ? 'arrow-red' : 'arrow'})`,
    }),
    h('text', { x: middle[0], y: middle[1], 'text-anchor': 'middle' }, text),
  );
}

function marker(id) {
  return h(
    'marker',
    { id, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' },
    h('path', { d: 'M0 0L8 4L0 8Z' }),
  );
}

function short(text) {
  return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text;
}
