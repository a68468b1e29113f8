import { jest } from '@jest/globals';
import { context, diag, type Span } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { instrumentFairLock, linksToTerm } from 'nestjs-fair-lock/otel';
import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { waiting } from '../support/requests.js';
import { bench } from '../unit/core/support.js';
import { abortsOf, deferred, pause, SOON } from '../support/waiting.js';

const options = { group: 'order:<0.id>', label: 'Orders.pay' };

describe('the telemetry of nestjs-fair-lock/otel', () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const tracer = provider.getTracer('test');
  // Short times, so that heartbeats and renewals happen while a request is traced.
  const clients = new InProcessClients(uniquePrefix(), {
    lease: 3_000,
    livenessWindow: 3_000,
    commandTimeout: 1_000,
  });
  let one: InProcessClient;
  let end: () => void;
  beforeAll(async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    end = instrumentFairLock({ tracerProvider: provider, meterProvider });
    one = await clients.start(redisUrl());
  });
  beforeEach(() => exporter.reset());
  afterAll(async () => {
    await clients.close();
    end();
    await meterProvider.shutdown();
    await provider.shutdown();
    context.disable();
  });

  /** Runs `code` as a traced request. */
  const request = (code: (span: Span) => Promise<unknown>): Promise<unknown> =>
    tracer.startActiveSpan('request', async (span) => {
      try {
        return await code(span);
      } finally {
        span.end();
      }
    });
  const named = (name: string): ReadableSpan[] =>
    exporter.getFinishedSpans().filter((span) => span.name === name);
  const idOf = (span: ReadableSpan | undefined): string | undefined => span?.spanContext().spanId;

  test('a section runs inside of the span of its hold, which is a child of the request', async () => {
    await request(() =>
      one.service.withLock(
        'order:1',
        async () => {
          await pause(1_200);
          tracer.startSpan('sql').end();
          await one.service.withLock('order:1', () => tracer.startSpan('nested sql').end());
        },
        options,
      ),
    );
    const [outer] = named('request');
    const [hold] = named('fairlock hold');
    expect(hold?.parentSpanContext?.spanId).toBe(idOf(outer));
    for (const name of ['sql', 'nested sql']) {
      expect(named(name)[0]?.parentSpanContext?.spanId).toBe(idOf(hold));
    }
    expect(hold?.attributes).toMatchObject({
      'fairlock.lock': 'order:<0.id>',
      'fairlock.label': 'Orders.pay',
      'fairlock.outcome': 'released',
      'fairlock.token': expect.any(Number) as number,
    });
    expect(JSON.stringify(hold?.attributes)).not.toContain('order:1');
    // Neither a wait that was none, nor a heartbeat, renewal or subscription is in the trace of the request.
    expect(
      exporter
        .getFinishedSpans()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['fairlock hold', 'nested sql', 'request', 'sql']);
  });

  test('a request that stands in line has a span for it, from the call to the grant', async () => {
    const busy = await one.service.acquire('order:2');
    const waits = request(() => one.service.withLock('order:2', () => undefined, options));
    await waiting(one.store, 'order:2', 1);
    await busy.release();
    await waits;
    const [wait] = named('fairlock wait');
    expect(wait?.parentSpanContext?.spanId).toBe(idOf(named('request')[0]));
    expect(wait?.attributes).toMatchObject({ 'fairlock.ahead': 0, 'fairlock.outcome': 'granted' });
  });

  test('the spans of a shared lock say how it is shared: of several keys, each says its own', async () => {
    const writer = await one.service.acquire('order:shared');
    const keys = ['order:shared', { key: 'order:supplier', permits: 3, weight: 2 }];
    const both = one.service.withLock(keys, () => undefined, { ...options, mode: 'read' });
    await waiting(one.store, 'order:shared', 1);
    await writer.release();
    await both;
    const shareOf = ({ attributes }: ReadableSpan): unknown[] =>
      ['mode', 'permits', 'weight'].map((name) => attributes[`fairlock.${name}`]);
    expect(named('fairlock wait').map(shareOf)).toEqual([['read', undefined, undefined]]);
    expect(named('fairlock hold').map(shareOf)).toEqual([
      [undefined, undefined, undefined],
      ['permits', 3, 2],
      ['read', undefined, undefined],
    ]);
  });

  test("the spans of a leader's section begin separate traces, with a link to the span of its term", async () => {
    const done = deferred();
    const { service } = one;
    const leadership = service.lead(
      'outbox',
      async ({ signal }) => {
        tracer.startSpan('batch', { links: linksToTerm() }).end();
        await tracer.startActiveSpan('other batch', { links: linksToTerm() }, async (batch) => {
          tracer.startSpan('sql', { links: linksToTerm() }).end();
          await service.withLock('order:4', () => undefined, options);
          batch.end();
        });
        await service.withLock('order:5', () => tracer.startSpan('inside').end());
        done.resolve();
        await abortsOf(signal);
      },
      { group: 'outbox' },
    );
    await done.promise;
    await leadership.stop();
    const spans = exporter.getFinishedSpans();
    const term = spans.find(({ attributes }) => attributes['fairlock.lock'] === 'outbox');
    const shown = spans.map((span) => [
      span.name,
      spans.find((other) => idOf(other) === span.parentSpanContext?.spanId)?.name,
      span.links.map((link) => link.context.spanId === idOf(term)),
    ]);
    expect(shown).toEqual([
      ['batch', undefined, [true]],
      ['sql', 'other batch', []],
      ['fairlock hold', 'other batch', []],
      ['other batch', undefined, [true]],
      ['inside', 'fairlock hold', []],
      ['fairlock hold', undefined, [true]],
      ['fairlock hold', undefined, []],
    ]);
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(4);
  });

  test('a wait that fails ends its span once, as an error without the key', async () => {
    const busy = await one.service.acquire('order:3');
    await expect(
      request(() => one.service.acquire('order:3', { ...options, waitTime: 300 })),
    ).rejects.toMatchObject({ code: 'WAIT_TIMEOUT' });
    await busy.release();
    const failed = named('fairlock wait');
    expect(failed).toHaveLength(1);
    expect(failed[0]?.status).toMatchObject({ code: 2 });
    expect(failed[0]?.attributes).toMatchObject({
      'error.type': 'WAIT_TIMEOUT',
      'fairlock.outcome': 'timeout',
    });
    expect(JSON.stringify([failed[0]?.attributes, failed[0]?.status])).not.toContain('order:3');
  });

  test('a span is where the wall clock is, also after that was set', async () => {
    const { engine, service } = bench();
    const set = Date.now() + 3_600_000;
    const clock = jest.spyOn(Date, 'now').mockReturnValue(set);
    const busy = await service.acquire('order:7');
    const waits = service.acquire('order:7');
    await busy.release();
    await (await waits).release();
    clock.mockRestore();
    const spans = [...named('fairlock wait'), ...named('fairlock hold')];
    expect(spans).toHaveLength(3);
    for (const { startTime } of spans) expect(Math.abs(startTime[0] * 1_000 - set)).toBeLessThan(10_000);
    await engine.close();
  });

  test.each(['onStart', 'onEnd'])(
    'a span processor that throws in %s costs its spans alone',
    async (when) => {
      const errors: unknown[] = [];
      const quiet = (): void => undefined;
      const log = { error: (_: string, error: unknown) => void errors.push(error) };
      diag.setLogger({ ...log, warn: quiet, info: quiet, debug: quiet, verbose: quiet });
      const fault = new Error('The exporter is broken.');
      const processor: SpanProcessor = {
        onStart: quiet,
        onEnd: quiet,
        forceFlush: () => Promise.resolve(),
        shutdown: () => Promise.resolve(),
        [when]: () => {
          throw fault;
        },
      };
      const tracerProvider = new BasicTracerProvider({ spanProcessors: [processor] });
      const endBroken = instrumentFairLock({ tracerProvider, metrics: false });
      const { engine, service } = bench();
      const served: number[] = [];
      await Promise.all([1, 2].map((i) => service.withLock('order:8', () => served.push(i))));
      expect(served).toEqual([1, 2]);
      expect(errors).toEqual([fault, fault, fault]);
      expect(named('fairlock hold')).toHaveLength(2);
      await engine.close();
      endBroken();
      diag.disable();
    },
  );

  test('query names the trace of a hold and of a wait', async () => {
    await request(async (span) => {
      const { traceId } = span.spanContext();
      const lock = await one.service.acquire('order:4');
      const waits = one.service.withLock('order:4', () => undefined);
      const { processes } = await one.service.query({ timeout: SOON });
      expect(processes[0]?.holds[0]?.traceId).toBe(traceId);
      expect(processes[0]?.waits[0]?.traceId).toBe(traceId);
      await lock.release();
      await waits;
    });
  });

  test('the metrics have their own names and labels, and gauges that are zero when all has ended', async () => {
    await reader.forceFlush();
    const { metrics } = measured.getMetrics().at(-1)!.scopeMetrics[0]!;
    const all = new Map(metrics.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]));
    expect([...all.keys()]).toEqual(
      expect.arrayContaining([
        'fairlock.held',
        'fairlock.hold.duration',
        'fairlock.oldest_wait',
        'fairlock.oldest_hold',
        'fairlock.wait.duration',
        'fairlock.waiting',
      ]),
    );
    expect(all.get('fairlock.wait.duration')).toContainEqual(
      expect.objectContaining({ attributes: { lock: 'order:<0.id>', outcome: 'timeout' } }),
    );
    for (const { value } of all.get('fairlock.held')!) expect(value).toBe(0);
  });

  test('losses are counted from 0 on, so increase() of Prometheus sees the first one', async () => {
    await reader.forceFlush();
    const { metrics } = measured.getMetrics().at(-1)!.scopeMetrics[0]!;
    const lost = metrics.find(({ descriptor }) => descriptor.name === 'fairlock.lost');
    for (const lock of ['other', 'order:<0.id>']) {
      expect(lost?.dataPoints).toContainEqual(expect.objectContaining({ attributes: { lock }, value: 0 }));
    }
  });
});
