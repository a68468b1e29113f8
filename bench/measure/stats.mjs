/** @param {readonly number[]} values */
export function percentile(values, share) {
  if (values.length === 0) return NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.ceil(place);
  if (sorted[below] === sorted[above]) return sorted[below]; // also where both are infinite
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}

/** @param {readonly number[]} values */
export const median = (values) => percentile(values, 0.5);

/** @param {readonly number[]} values */
export const sum = (values) => values.reduce((total, value) => total + value, 0);

/** How many were served although an earlier request was not. @param {readonly number[]} order numbers as served */
export function inversions(order) {
  let earliest = Infinity;
  let count = 0;
  for (let i = order.length - 1; i >= 0; i -= 1) {
    if (order[i] > earliest) count += 1;
    earliest = Math.min(earliest, order[i]);
  }
  return count;
}
