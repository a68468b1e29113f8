/** One table for each scenario: medians, and in brackets the ratio to the first subject, round by round, or `=` within the noise. */

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
 * @param {readonly { label: string, rounds: readonly Record<string, number>[], failed?: boolean }[]} measured with the base of ratios first, and the
 *   base again second
 */
export function tableOf(columns, measured) {
  const [{ rounds: base }, { rounds: again }] = measured;
  const rows = measured.map(({ label, rounds, failed }) => {
    if (failed) return [label, 'failed'];
    const cells = Object.entries(columns).map(([name, heading]) => {
      const noise = noiseOf(ratiosOf(name, again, base));
      if (rounds === again) return noise === undefined ? '' : `± ${Math.ceil(100 * noise)} %`;
      return cell(name, heading, rounds, base, noise);
    });
    return [rounds === again ? 'noise' : label, ...cells];
  });
  return [['library', ...Object.values(columns)], ...rows];
}

const ratiosOf = (name, rounds, base) =>
  rounds.map((round, i) => round[name] / base[i]?.[name]).filter(Number.isFinite);

/** By how much a subject differs from itself in a round, as a share: as a rule (the median), since the rare outlier moves no median. */
function noiseOf(ratios) {
  return ratios.length === 0 ? undefined : median(ratios.map((ratio) => Math.abs(ratio - 1)));
}

function cell(name, heading, rounds, base, noise) {
  const values = rounds.map((round) => round[name]).filter((value) => value !== undefined);
  if (values.length === 0) return '';
  const shown = figure(median(values));
  const ratios = ratiosOf(name, rounds, base);
  if (rounds === base || heading.includes('%') || ratios.length === 0) return shown;
  const ratio = median(ratios);
  if (Math.abs(ratio - 1) <= noise) return `${shown} (=)`;
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
