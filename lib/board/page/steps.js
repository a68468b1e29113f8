/** Long lists reach the page in steps, one a frame: a page that draws a thousand rows in one frame does not respond until it is done. */

export const STEP = 100;

/** @returns the keys to draw now, where the page shows `shown` and should show `wanted`: one step nearer to it */
export function stepTo(wanted, shown) {
  const all = new Set(wanted);
  const rest = shown.filter((key) => all.has(key));
  let settled = 0;
  while (settled < wanted.length && rest[settled] === wanted[settled]) settled += 1;
  const placed = wanted.slice(0, settled + STEP);
  const first = new Set(placed);
  return [...placed, ...rest.filter((key) => !first.has(key))];
}
