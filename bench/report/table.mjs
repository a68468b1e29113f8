/** Tables for the terminal and for Markdown, made from the same rows. */

/** The table of one scenario: a row a subject, the columns that the scenario names. */
export function scenarioTable(scenario, subjects, labels) {
  const columns = scenario.columns.filter(([name]) =>
    Object.values(subjects).some(({ measures }) => measures[name] !== undefined),
  );
  return {
    head: ['', ...columns.map(([, head]) => head)],
    rows: Object.entries(subjects)
      .filter(([, { measures }]) => columns.some(([name]) => measures[name] !== undefined))
      .map(([subject, { measures }]) => [
        labels[subject] ?? subject,
        ...columns.map(([name]) => figure(measures[name]?.median)),
      ]),
  };
}

export function verdictTable(verdicts) {
  return {
    head: ['', 'target', 'bound', 'found'],
    rows: verdicts.map(({ text, bound, aim, value, passed, tooShort }) => [
      tooShort ? 'too short to judge' : passed === undefined ? '–' : passed ? 'met' : 'MISSED',
      text,
      aim ? `${bound} (aim)` : bound,
      figure(value),
    ]),
  };
}

export function toText({ head, rows }) {
  const lines = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const pad = (cell, column) =>
    isFigure(cell) || (column > 0 && rows.some((row) => isFigure(row[column])))
      ? cell.padStart(widths[column])
      : cell.padEnd(widths[column]);
  return lines.map((line) => `  ${line.map(pad).join('  ')}`.trimEnd()).join('\n');
}

export function toMarkdown({ head, rows }) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [
    line(head),
    line(head.map((_, i) => (rows.some((row) => isFigure(row[i])) ? '--:' : '---'))),
    ...rows.map(line),
  ].join('\n');
}

/** Three significant digits, thousands grouped. */
export function figure(value) {
  if (value === undefined || value === null) return '';
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

const isFigure = (cell) => /^-?[\d,.]+(e[+-]?\d+)?$/.test(cell);
