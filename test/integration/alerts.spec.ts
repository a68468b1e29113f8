import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Registry } from 'prom-client';
import { collectPrometheusMetrics } from 'nestjs-fair-lock/prometheus';
import { parse } from 'yaml';
import { bench } from '../unit/core/support.js';

const folder = new URL('../../observability/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly description: string };
}
const { groups } = parse(read('alerts.yml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const { panels } = JSON.parse(read('grafana-dashboard.json')) as {
  panels: { targets: { expr: string }[] }[];
};
const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

/** Names and labels of a scrape in which everything that is counted has happened once. */
async function scrape(): Promise<Map<string, Set<string>>> {
  const registry = new Registry();
  const end = collectPrometheusMetrics({ registry });
  const { engine, service, store } = bench();
  await engine.start();
  const lock = await service.acquire('k', { group: 'order:<0>' });
  await service.acquire('k', { waitTime: 1, group: 'order:<0>' }).catch(() => undefined);
  store.lose('k');
  await lock.release();
  const text = await registry.metrics();
  await engine.close();
  end();
  const series = new Map<string, Set<string>>();
  for (const [, name = '', kind] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const names =
      kind === 'histogram' ? ['_bucket', '_count', '_sum'].map((suffix) => name + suffix) : [name];
    for (const each of names) series.set(each, new Set());
  }
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)\{(.*)\} /gm)) {
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) series.get(name)?.add(label);
  }
  return series;
}

/** What an expression reads: metrics, and the labels that it groups or filters by. */
function readBy(expr: string): { metrics: string[]; labels: string[] } {
  const metrics = [...expr.matchAll(/fairlock_\w+/g)].map(([name]) => name);
  const groups = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', '));
  const filters = [...expr.matchAll(/(\w+)(?:=~|!=|=)"/g)].map(([, label = '']) => label);
  return { metrics, labels: [...groups, ...filters] };
}

describe('the alert rules and the dashboard in observability/', () => {
  test.each([
    ...rules.map(({ alert, expr }) => [alert, expr]),
    ...queries.map((expr, i) => [`query ${i}`, expr]),
  ])('%s reads metrics and labels that a scrape has', async (_, expr) => {
    const series = await scrape();
    const { metrics, labels } = readBy(expr);
    expect(metrics.length).toBeGreaterThan(0);
    for (const metric of metrics) {
      expect([...series.keys()]).toContain(metric);
      // Nothing has failed here, so this counter has no series yet that would show its label.
      if (metric === 'fairlock_store_failures_total') continue;
      for (const label of labels) expect([...series.get(metric)!]).toContain(label);
    }
  });

  test('the series on which promtool tries the rules are those of a scrape', async () => {
    const scraped = await scrape();
    const tried = parse(readFileSync(new URL('alerts.promtool.yml', import.meta.url), 'utf8')) as {
      tests: { input_series: { series: string }[] }[];
    };
    for (const { series } of tried.tests.flatMap(({ input_series }) => input_series)) {
      const name = series.slice(0, series.indexOf('{'));
      // Prometheus itself adds the instance.
      const labels = [...series.matchAll(/(\w+)="/g)]
        .map(([, label = '']) => label)
        .filter((label) => label !== 'instance');
      expect([...scraped.keys()]).toContain(name);
      if (name !== 'fairlock_store_failures_total') expect(new Set(labels)).toEqual(scraped.get(name));
    }
  });

  const promtool = process.env['PROMTOOL'] ?? 'promtool';
  const present = spawnSync(promtool, ['--version']).status === 0;
  const required = process.env['PROMTOOL_REQUIRED'] === 'true';
  (present || required ? test : test.skip)(
    'each rule fires on what it is for, and none on a quiet process (promtool)',
    () => {
      const file = fileURLToPath(new URL('alerts.promtool.yml', import.meta.url));
      const { status, stdout, stderr } = spawnSync(promtool, ['test', 'rules', file], { encoding: 'utf8' });
      expect([status, stdout, stderr]).toEqual([0, expect.stringContaining('SUCCESS'), '']);
    },
  );

  test('each rule says what happened and what to do', () => {
    expect(rules.map(({ alert }) => alert)).toEqual([
      'FairLockWaitIsLong',
      'FairLockWaitsTimeOut',
      'FairLockLost',
      'FairLockRedisFails',
      'FairLockHeldForLong',
    ]);
    for (const { annotations } of rules) {
      expect(annotations.summary).toMatch(/./);
      expect(annotations.description).toMatch(/./);
    }
  });
});
