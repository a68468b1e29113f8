/** Judges an event log: nothing here knows how the lock works, or trusts what it says of itself. */

/**
 * @param events what happened, stamped by one clock: `order sent`, `order in line`, `order begun` and `order ended`;
 *   `stocktaking begun` and `stocktaking ended` for the other use of the lock; `kill sent` and `killed`
 * @param delivered how many articles there were to sell
 */
export function judge(events, delivered) {
  const named = (name) => events.filter(({ event }) => event === name);
  const sections = sectionsOf(events);
  const orders = ordersOf(events);
  const served = orders.filter(({ ended }) => ended !== undefined);
  const waits = orders.filter(({ begun }) => begun !== undefined).map(({ sent, begun }) => begun - sent);
  const sold = named('order ended').reduce((sum, order) => sum + order.sold, 0);
  const [kill] = named('kill sent');
  const [afterKill] = sections.filter(({ begun }) => kill && begun > kill.at);
  return {
    requests: orders.length,
    served: served.length,
    overlaps: countOverlaps(sections),
    inversions: countInversions(orders),
    tokensIncreasing: sections.every(({ token }, index) => index === 0 || token > sections[index - 1].token),
    oversold: Math.max(0, sold - delivered),
    recoveryMs: kill && afterKill ? Math.round(afterKill.begun - kill.at) : null,
    longestWaitMs: Math.round(Math.max(0, ...waits)),
  };
}

/** The stays under the lock, in the order in which they began. One that did not end ended with its process. */
function sectionsOf(events) {
  const sections = [];
  for (const { event, instance, customer, token, at } of [...events].sort((a, b) => a.at - b.at)) {
    const endAt = (fits) => sections.filter(fits).forEach((section) => (section.ended = at));
    const isOpen = (section) => section.ended === Infinity && section.instance === instance;
    if (event.endsWith(' begun')) sections.push({ instance, customer, token, begun: at, ended: Infinity });
    if (event.endsWith(' ended')) endAt((section) => isOpen(section) && section.customer === customer);
    if (event === 'killed') endAt(isOpen);
  }
  return sections;
}

/** How many sections began before an earlier one had ended. */
function countOverlaps(sections) {
  let free = -Infinity;
  let overlaps = 0;
  for (const { begun, ended } of sections) {
    if (begun < free) overlaps += 1;
    free = Math.max(free, ended);
  }
  return overlaps;
}

function ordersOf(events) {
  const orders = new Map();
  const stamps = {
    'order sent': 'sent',
    'order in line': 'inLine',
    'order begun': 'begun',
    'order ended': 'ended',
  };
  for (const { event, customer, at } of events) {
    if (!(event in stamps)) continue;
    if (!orders.has(customer)) orders.set(customer, { customer });
    orders.get(customer)[stamps[event]] = at;
  }
  return [...orders.values()];
}

/** How many pairs were served the other way round, of which one was known to be in line before the other was sent. */
function countInversions(orders) {
  let inversions = 0;
  for (const first of orders) {
    for (const second of orders) {
      if (first.inLine < second.sent && first.begun > second.begun) inversions += 1;
    }
  }
  return inversions;
}
