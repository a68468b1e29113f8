/** What the page knows, and which view shows it. */
import { h, render } from './dom.js';
import { connect } from './feed.js';
import { figures } from './figures.js';
import { confirmForceRelease } from './force-release.js';
import { lineView, rememberHolder } from './line.js';
import { locksView } from './locks.js';
import { processesView } from './processes.js';
import { count, SPAN } from './text.js';
import { waitsView } from './waits.js';

const { base, readOnly } = document.documentElement.dataset;
const LAST = 'This page shows the last data received.';

const main = document.getElementById('main');
const state = {
  connection: 'wait',
  overview: undefined,
  line: undefined,
  trouble: undefined,
  history: [],
  filter: '',
  view: 'locks',
  key: undefined,
};
const actions = {
  filter(text) {
    state.filter = text;
    draw();
  },
  redraw,
  forceRelease: readOnly === 'true' ? undefined : (holder) => confirmForceRelease(base, state.key, holder),
};

const open = connect(base, onEvent);
addEventListener('hashchange', () => {
  route();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});
addEventListener('keydown', onKey);
document.querySelector('.skip').onclick = (event) => {
  event.preventDefault();
  main.focus();
};
route();

function route() {
  const [, view = '', rest = ''] = /^#\/([a-z]*)\/?(.*)$/.exec(location.hash) ?? [];
  state.view = ['lock', 'processes', 'waits'].includes(view) ? view : 'locks';
  const key = state.view === 'lock' ? decode(rest) : undefined;
  if (key !== state.key || state.connection === 'wait') {
    state.key = key;
    state.line = undefined;
    open(key);
  }
  document.title = state.view === 'lock' ? `${key} · Locks` : 'Locks';
  draw();
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function onEvent(event, data) {
  if (event === 'overview') {
    state.overview = data;
    state.trouble = undefined;
    remember(data.totals);
  } else if (event === 'line') {
    state.line = data;
    rememberHolder(data);
  } else if (event === 'trouble') state.trouble = data.message;
  else if (event === 'history')
    state.history = data.map(({ ago, ...rest }) => ({ at: Date.now() - ago, ...rest }));
  else state.connection = event;
  draw();
}

function remember({ waiting, longestWait }) {
  const at = Date.now();
  state.history.push({ at, waiting, longestWait });
  while (state.history[0].at < at - SPAN) state.history.shift();
}

/** `/` leads to the filter, Escape back to all locks. */
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById('dialog').open) return;
  const typing = event.target instanceof HTMLInputElement;
  if (event.key === '/' && !typing) {
    const filter = document.getElementById('filter');
    if (!filter) return;
    event.preventDefault();
    filter.focus();
  } else if (event.key === 'Escape') {
    if (typing && state.filter !== '') actions.filter((event.target.value = ''));
    else if (state.view !== 'locks') location.hash = '#/';
  }
}

function draw() {
  const { overview, view } = state;
  render(document.getElementById('live'), ...live());
  render(
    document.getElementById('tabs'),
    tab('locks', '#/', 'Locks'),
    tab('processes', '#/processes', 'Processes'),
    tab('waits', '#/waits', 'Waits'),
  );
  main.classList.toggle('stale', condition() !== 'open');
  const views = { locks: locksView, lock: lineView, processes: processesView, waits: waitsView };
  const content = overview
    ? views[view](state, actions)
    : state.trouble === undefined && h('p', { class: 'empty' }, 'Waiting for the processes to respond …');
  render(main, alerts(), overview && view !== 'lock' && figures(state), h('div', { key: view }, content));
}

let redrawing = false;
/** Draws once before the next frame, however often it is called. */
function redraw() {
  if (redrawing) return;
  redrawing = true;
  requestAnimationFrame(() => {
    redrawing = false;
    draw();
  });
}

function tab(view, href, text) {
  const current = state.view === view || (view === 'locks' && state.view === 'lock');
  return h('a', { href, 'aria-current': current ? 'page' : undefined }, text);
}

/** Of the connection to the server; `stale` where the server itself does not respond. */
function condition() {
  return state.connection === 'open' && state.trouble !== undefined ? 'stale' : state.connection;
}

function live() {
  const texts = {
    wait: 'Connecting',
    open: 'Live',
    stale: 'Not live',
    lost: 'Reconnecting',
    refused: 'Signed out',
  };
  return [h('span', { class: `lamp ${condition()}`, 'aria-hidden': 'true' }), texts[condition()]];
}

function alerts() {
  const { trouble, connection, overview, view } = state;
  return h(
    'div',
    { key: 'alerts', role: 'alert' },
    connection === 'refused' && alert('bad', 'Your session has ended. Reload the page to sign in again.'),
    connection === 'lost' && alert('warn', `The connection was lost. ${overview ? LAST : ''}`),
    trouble !== undefined && alert('bad', `${trouble} ${overview ? LAST : ''}`),
    overview?.problems.map((problem) => alert('warn', problem)),
    overview?.silent.length > 0 &&
      view !== 'processes' &&
      alert(
        'warn',
        `${count(overview.silent.length, 'process', 'processes')} did not respond. `,
        h('a', { href: '#/processes' }, 'Show'),
      ),
  );
}

function alert(kind, ...content) {
  return h('p', { class: `alert ${kind}` }, ...content);
}
