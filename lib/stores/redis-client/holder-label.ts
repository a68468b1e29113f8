/** How much of a label is kept in Redis. */
const LONGEST_LABEL = 128;

/** Who holds or waits, for people: `web-1/4711/OrdersService.pay`. */
export function holderLabel(where: string, label: string): string {
  return `${where}/${label.slice(0, LONGEST_LABEL)}`;
}
