import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jest } from '@jest/globals';
import { Registry } from 'prom-client';
import { collectPrometheusMetrics } from 'nestjs-fair-lock/prometheus';
import { parse, stringify } from 'yaml';
import { bench } from '../unit/core/support.js';

const observability = new URL('../../observability/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, observability), 'utf8');

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

/** As Prometheus asks, ms. */
const SCRAPE_INTERVAL = 15_000;

/** What is scraped in ten minutes from a process in which a request for one lock arrives every 5 s. */
async function printedInTenMinutes(hangs: boolean): Promise<{ series: string; values: string }[]> {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  const registry = new Registry();
  const end = collectPrometheusMetrics({ registry });
  const { engine, service } = bench({ waitTime: 45_000 });
  await engine.start();
  const section = () => (hangs ? new Promise<never>(() => undefined) : sleep(1_000));
  const series = new Map<string, string[]>();
  for (let time = 0; time <= 600_000; time += 5_000) {
    void service.withLock('order:1', section, { group: 'order:<0>' }).catch(() => undefined);
    await jest.advanceTimersByTimeAsync(5_000);
    if (time % SCRAPE_INTERVAL > 0) continue;
    const scrapes = time / SCRAPE_INTERVAL;
    for (const [, name = '', value = ''] of (await registry.metrics()).matchAll(/^(\w+\{.*\}) (\S+)$/gm)) {
      const values = series.get(name) ?? Array.from({ length: scrapes }, () => '_'); // not there yet
      series.set(name, [...values, value]);
    }
  }
  // A section that hangs is waited for, with its margin.
  const closed = engine.close();
  await jest.advanceTimersByTimeAsync(60_000);
  await closed;
  end();
  jest.useRealTimers();
  return [...series].map(([name, values]) => ({ series: name, values: values.join(' ') }));
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
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
  const withPromtool = present || required ? test : test.skip;

  const expectSuccess = (file: string): void => {
    const { status, stdout, stderr } = spawnSync(promtool, ['test', 'rules', file], { encoding: 'utf8' });
    expect([status, stdout, stderr]).toEqual([0, expect.stringContaining('SUCCESS'), '']);
  };

  withPromtool(
    'each rule about counters fires on what it is for, and none on a quiet process (promtool)',
    () => {
      expectSuccess(fileURLToPath(new URL('alerts.promtool.yml', import.meta.url)));
    },
  );

  withPromtool.each([
    ['with a holder that hangs, a long wait, a long hold and the waits that time out fire', true],
    ['with sections of a second, nothing fires', false],
  ])('%s: on what the exporter prints in ten minutes (promtool)', async (_, hangs) => {
    const fired = ['FairLockHeldForLong', 'FairLockWaitIsLong', 'FairLockWaitsTimeOut'];
    const expected = fired.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 }));
    const folder = mkdtempSync(join(tmpdir(), 'fair-lock-alerts-'));
    const file = join(folder, 'alerts.test.yml');
    const tests = [
      {
        interval: `${SCRAPE_INTERVAL / 1_000}s`,
        input_series: await printedInTenMinutes(hangs),
        promql_expr_test: [
          {
            expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
            eval_time: '9m30s',
            exp_samples: hangs ? expected : [],
          },
        ],
      },
    ];
    const rule_files = [fileURLToPath(new URL('alerts.yml', observability))];
    writeFileSync(file, stringify({ rule_files, evaluation_interval: '15s', tests }));
    expectSuccess(file);
    rmSync(folder, { recursive: true });
  });
});
