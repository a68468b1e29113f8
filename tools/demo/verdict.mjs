/** Judges an event log: nothing here knows how the lock works, or trusts what it says of itself. */

/**
 * @param entries `order sent`, `order in line`, `order begun`, `order ended` and `order lost`; `stocktaking begun` and `stocktaking ended` for the
 *   other use of the lock; `killed`
 * @param stock how many articles there were to sell
 * @returns for each figure its name, a sentence, and whether it is as promised
 */
export function judge(entries, stock) {
  const named = (name) => entries.filter(({ event }) => event === name);
  const at = (name, order) => named(name).find(({ customer }) => customer === order.customer)?.at;
  const [killed] = named('killed');
  const sections = entries
    .filter(({ event }) => event.endsWith(' begun'))
    .sort((a, b) => a.at - b.at)
    .map((begun) => ({ ...begun, until: endOf(begun, entries, killed) }));
  const orders = sections.filter(({ customer }) => customer);
  const sent = named('order sent').length;
  const served = named('order ended').length;
  const lost = named('order lost');
  const died = lost.filter(({ instance }) => instance === killed.instance).length;
  const pairs = orders.flatMap((first) => orders.map((second) => [first, second]));
  const overlaps = sections.filter((section, i) =>
    sections.slice(0, i).some(({ until }) => until > section.at),
  );
  const inversions = pairs.filter(
    ([first, second]) => at('order in line', first) < at('order sent', second) && first.at > second.at,
  );
  const fenced = sections.some(({ token }) => token !== undefined);
  const rising = sections.every(({ token }, i) => i === 0 || token > sections[i - 1].token);
  const sold = named('order ended').reduce((sum, order) => sum + order.sold, 0);
  const next = sections.find((section) => section.at > killed.sentAt);
  const longest = Math.max(...orders.map((order) => order.at - at('order sent', order)));
  return [
    ['orders', `${sent} sent, ${served} served`, served + lost.length === sent],
    ['', `${died} failed with ${killed.instance}, which was killed`, died === lost.length],
    ['overlaps', `${overlaps.length} times that two were inside at once`, overlaps.length === 0],
    ['inversions', `${inversions.length} pairs served the other way round`, inversions.length === 0],
    [
      'tokens',
      !fenced ? 'this store has none' : rising ? 'rise with every holder' : 'DO NOT RISE',
      rising || !fenced,
    ],
    ['oversold', `${Math.max(0, sold - stock)}; there were ${stock} to sell`, sold <= stock],
    ['recovery', `${seconds(next.at - killed.sentAt)} from the kill to the next one served`, true],
    ['longest wait', seconds(longest), true],
  ];
}

/** When a stay under the lock was over. One that did not end ended with its process. */
function endOf({ event, instance, customer }, entries, killed) {
  const name = event.replace('begun', 'ended');
  const fits = (entry) => entry.event === name && entry.instance === instance && entry.customer === customer;
  return entries.find(fits)?.at ?? (killed.instance === instance ? killed.at : Infinity);
}

export function seconds(ms) {
  return `${(ms / 1_000).toFixed(2)} s`;
}
