/** The page of a run: what ran, and how it ended. */
export function pageOf({ servers, runtimes, tools, columns, checks, tarballs }) {
  const text = [
    '# What was tested',
    '`node test/matrix/main.mjs` runs the suites below on real servers and runtimes, notes what it saw, and writes all that follows.',
    '## Servers',
    `Tests passed / run. "–": this suite isn't run there. On ${tarballs.node}.`,
    table(
      ['Server', ...columns],
      servers.map(({ version, cells, skipped }) => [
        version,
        ...columns.map((column, i) =>
          skipped === undefined ? cell(cells[column]) : i === 0 ? `NOT RUN: ${skipped}` : '',
        ),
      ]),
    ),
    '## Runtimes',
    `The package from its tarball, with Nest ${tarballs.nest} and ioredis ${tarballs.ioredis}, on ${tarballs.server}.`,
    verdicts('Runtime', runtimes),
    '## Bundlers and package managers',
    `The same checks on ${tools.find(({ node }) => node)?.node ?? tarballs.node}: bundled together with the package, its peers next to it, as an ES module and, for the second process, as CommonJS; or installed by another package manager.`,
    verdicts('Tool', tools),
    'The checks:',
    checks.map((check) => `- ${check}`).join('\n'),
  ];
  return `${text.join('\n\n')}\n`;
}

function cell(result) {
  return result === undefined ? '–' : `${result.passed} / ${result.passed + result.failed}`;
}

function verdicts(head, rows) {
  return table(
    [head, 'Checks'],
    rows.map(({ version, note, results, skipped }) => [
      note === undefined ? version : `${version} (${note})`,
      skipped === undefined ? verdict(results) : `NOT RUN: ${skipped}`,
    ]),
  );
}

function verdict(results) {
  const passed = results.filter(({ error }) => error === undefined).length;
  return `${passed} / ${results.length}`;
}

function table(head, rows) {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}
