/** One table for each scenario: medians, and in brackets the ratio to the first subject, round by round. */

/** @param {readonly number[]} values */
export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  return below + (above - below) * (place % 1);
}

/** @param {readonly number[]} values */
export const median = (values) => percentile(values, 0.5);

/**
 * The head and the rows of a scenario's table.
 *
 * @param {Record<string, string>} columns the measures that are shown, and their headings; in % and of what is not paired: without a ratio
 * @param {readonly { label: string, rounds: readonly Record<string, number>[], failed?: boolean }[]} measured with the base of ratios first
 */
export function tableOf(columns, measured) {
  const base = measured[0].rounds;
  const rows = measured.map(({ label, rounds, failed }) => {
    if (failed) return [label, 'failed'];
    return [label, ...Object.entries(columns).map(([name, heading]) => cell(name, heading, rounds, base))];
  });
  return [['', ...Object.values(columns)], ...rows];
}

function cell(name, heading, rounds, base) {
  const values = rounds.map((round) => round[name]).filter((value) => value !== undefined);
  if (values.length === 0) return '';
  const shown = figure(median(values));
  if (heading.includes('%')) return shown;
  const ratios = rounds.map((round, i) => round[name] / base[i]?.[name]).filter(Number.isFinite);
  if (ratios.length === 0) return shown;
  const ratio = median(ratios);
  return `${shown} (${ratio < 10 ? ratio.toFixed(2) : figure(ratio)})`;
}

function figure(value) {
  return Number(value.toPrecision(3)).toLocaleString('en-US');
}

/** For a terminal. */
export function plain(table) {
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  return table
    .map((row) =>
      row.map((text, i) => (i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]))).join('  '),
    )
    .join('\n');
}

export function markdown([head, ...rows]) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '--:'))), ...rows.map(line)].join('\n');
}
