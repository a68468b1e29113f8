/** One lock as a picture of its queue: the holder and what is left of its lease, then the waiters in their order. */
import { h } from './dom.js';
import { badge } from './locks.js';
import { count, dot, duration, lockLink, number, clientName, processName, SPAN, who } from './text.js';

const UNSEEN = 'before this page was opened';
/** The holders that this page has seen, of one lock. */
let seen = { key: undefined, since: 0, holds: [], longestLease: 0 };

/** Notes the holder of the lock, for its time line. */
export function rememberHolder({ key, holder }) {
  const now = Date.now();
  if (seen.key !== key) seen = { key, since: now - (holder?.heldFor ?? 0), holds: [], longestLease: 0 };
  if (!holder) return;
  seen.longestLease = Math.max(seen.longestLease, holder.leaseLeft ?? 0);
  const id = `${processName(holder)} ${holder.token ?? holder.label}`;
  const last = seen.holds.at(-1);
  if (last?.id === id) last.end = now;
  else seen.holds.push({ id, holder, begin: now - (holder.heldFor ?? 0), end: now });
  while (seen.holds[0].end < now - SPAN) seen.holds.shift();
}

export function lineView({ key, line }, actions) {
  return [
    h('p', { class: 'back' }, h('a', { href: '#/' }, '← All locks')),
    h('h1', { class: 'key' }, key),
    line ? picture(line, actions) : h('p', { class: 'empty' }, 'Waiting for Redis …'),
  ];
}

function picture(line, actions) {
  const { holder, shared, kept, waiters, queueLength } = line;
  const longest = Math.max(1, ...waiters.map(({ waitingFor }) => waitingFor ?? 0));
  return [
    h(
      'section',
      { class: 'line', 'aria-label': 'The queue' },
      shared
        ? sharedCard(shared, actions)
        : holder
          ? holderCard(holder, actions)
          : kept
            ? keptCard(kept)
            : h('p', { class: 'card free' }, h('b', null, 'Free'), 'The lock is not held.'),
      timeLine(),
      queueLength === 0
        ? h('p', { class: 'note' }, 'No call is waiting for it.')
        : h('h2', null, `${count(queueLength, 'call')} in the queue`),
      h('ol', { class: 'queue' }, ...waiters.map((waiter, index) => place(waiter, index, longest))),
      queueLength > waiters.length &&
        h('p', { class: 'note' }, `and ${number(queueLength - waiters.length)} more behind them`),
    ),
  ];
}

function keptCard({ left, ...last }) {
  const until = new Date(Date.now() + left).toLocaleTimeString('en-GB');
  return h(
    'p',
    { class: 'card free' },
    h('b', null, `Kept until ${until}`),
    'Nobody holds the lock, but holdAtLeast of its last hold has not elapsed: ',
    clientName(last),
  );
}

function sharedCard({ used, limit, count: all, holders }, actions) {
  return h(
    'section',
    { class: 'card shared' },
    h('h2', null, limit === undefined ? count(all, 'reader') : `${used} of ${count(limit, 'permit')} taken`),
    h(
      'ol',
      { class: 'holders' },
      ...holders.map((holder) =>
        h(
          'li',
          null,
          h('span', { class: 'about' }, clientName(holder), shareOf(holder), badge(holder.state)),
          h('span', { class: 'time' }, duration(holder.heldFor)),
          holder.id !== undefined && holder.pid !== undefined && forceButton(holder, actions),
        ),
      ),
    ),
    all > holders.length && h('p', { class: 'note' }, `and ${number(all - holders.length)} more`),
  );
}

/** With whom a call holds the lock; nothing if alone. */
function shareOf({ share }) {
  if (!share) return undefined;
  const text = share.mode === 'read' ? 'reads' : `${share.weight} of ${share.permits}`;
  return h('span', { class: 'chip' }, text);
}

function holderCard(holder, actions) {
  const { heldFor, leaseLeft, token, state, traceId } = holder;
  const endless = leaseLeft === null || leaseLeft === undefined;
  const share = endless ? 1 : leaseLeft / Math.max(1, seen.longestLease);
  return h(
    'div',
    { class: `card holder ${state}` },
    h(
      'div',
      { class: 'about' },
      h('h2', null, 'Holder'),
      h('p', null, clientName(holder), badge(state)),
      h(
        'dl',
        null,
        fact('Held for', duration(heldFor)),
        token !== undefined && fact('Fencing token', token),
        traceId && fact('Trace', traceId),
      ),
    ),
    h(
      'div',
      { class: 'lease' },
      h('h3', null, 'Lease'),
      h('p', null, endless ? 'no end' : `${duration(leaseLeft)} left`),
      h(
        'div',
        { class: `gauge ${share < 0.25 ? 'low' : ''}`, '--share': share.toFixed(3), 'aria-hidden': 'true' },
        h('i', null),
      ),
      token !== undefined && forceButton(holder, actions),
    ),
  );
}

/** None on a page that only shows. */
function forceButton(holder, { forceRelease }) {
  return (
    forceRelease &&
    h('button', { type: 'button', class: 'danger', onclick: () => forceRelease(holder) }, 'Force release …')
  );
}

function fact(name, value) {
  return h('div', null, h('dt', null, name), h('dd', null, value));
}

function place(waiter, index, longest) {
  const { waitingFor, live, deadlineLeft, inside } = waiter;
  return h(
    'li',
    { class: live ? undefined : 'gone' },
    h('span', { class: 'number', 'aria-hidden': 'true' }, index + 1),
    h(
      'span',
      { class: 'about' },
      clientName(waiter),
      shareOf(waiter),
      !live && badge(deadlineLeft === undefined ? 'skipped' : 'dead'),
      deadlineLeft !== undefined && h('span', { class: 'chip' }, `deadline in ${duration(deadlineLeft)}`),
      inside.length > 0 &&
        h(
          'span',
          { class: 'inside' },
          'holds ',
          ...inside.map((held) => lockLink(held, { key: held, class: 'chip' })),
        ),
    ),
    h(
      'span',
      { class: 'time wait', '--share': ((waitingFor ?? 0) / longest).toFixed(3) },
      duration(waitingFor),
    ),
  );
}

/** The holders of the last minutes, as far as this page was open or a hold that it shows lasted. */
function timeLine() {
  const now = Date.now();
  const holds = seen.holds.filter(({ end }) => end > now - SPAN);
  if (holds.length === 0) return undefined;
  const processes = new Map(holds.map(({ holder }) => [processName(holder), holder]));
  const share = (ms) => Math.min(1, Math.max(0, ms / SPAN));
  const unseen = share(seen.since - (now - SPAN));
  return h(
    'section',
    { class: 'past', 'aria-label': 'The last five minutes' },
    h('h2', null, 'The last five minutes'),
    h(
      'div',
      {
        class: 'band',
        role: 'img',
        'aria-label': `${count(holds.length, 'hold')} by ${count(processes.size, 'process', 'processes')}`,
      },
      unseen > 0 && h('span', { class: 'unseen', title: UNSEEN, '--long': unseen.toFixed(4) }),
      ...holds.map(({ id, holder, begin, end }) => {
        const from = share(begin - (now - SPAN));
        const title = `${who(holder)}: ${duration(end - begin)}`;
        return h('span', {
          key: `${id} ${begin}`,
          title,
          class: 'hold',
          '--hue': dot(holder).props['--hue'],
          '--from': from.toFixed(4),
          '--long': (share(end - (now - SPAN)) - from).toFixed(4),
        });
      }),
    ),
    h('p', { class: 'axis', 'aria-hidden': 'true' }, h('span', null, '5 min ago'), h('span', null, 'now')),
    h(
      'ul',
      { class: 'legend' },
      ...[...processes.values()].map((process) =>
        h('li', { key: processName(process) }, dot(process), processName(process)),
      ),
      unseen > 0 && h('li', null, h('span', { class: 'unseen' }), UNSEEN),
    ),
  );
}
