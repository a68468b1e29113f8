/**
 * An application with one Fastify route of Nest, which locks as `lock` says:
 * - `none`: without the lock module
 * - `module`, `module-unscoped`: with it (`requestScope: false`), but the route locks nothing
 * - `fair-lock`: by @FairLocked
 * - the name of another subject: by its client
 *
 * and describes its locks to what `watch` says:
 * - `metrics`: nestjs-fair-lock/prometheus
 * - `spans`: those of nestjs-fair-lock/otel, with the SDK and without an exporter behind it
 * - `none`: nothing could: the library has no diagnostics at all
 */
import { createRequire, register } from 'node:module';
import { pathToFileURL } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { subjectNamed } from '../subjects/index.mjs';

const ROOT = new URL('../../', import.meta.url);
/** The Nest that the package itself finds, not the one that its peers brought. */
const ofPackage = createRequire(new URL('package.json', ROOT));
const load = (name) => import(pathToFileURL(ofPackage.resolve(name)).href);
await load('reflect-metadata');
const { Controller, Get, Param } = await load('@nestjs/common');
const { NestFactory } = await load('@nestjs/core');
const { FastifyAdapter } = await load('@nestjs/platform-fastify');
const { lock, watch, url } = JSON.parse(process.argv[2]);
if (watch === 'none') register(new URL('without-diagnostics.mjs', import.meta.url));
const ofDist = (path) => import(new URL(`dist/esm/${path}`, ROOT).href);
const { FairLocked, FairLockModule } = await ofDist('index.js');
await { metrics: countLocks, spans: traceLocks }[watch]?.();

/** Pause before a client that cannot wait tries again, ms. */
const POLL = 10;

class Route {
  async get(key) {
    return key.length > 0 ? 'ok' : 'no key';
  }
}
const imports = [];
let client;
if (lock === 'module') imports.push(FairLockModule.forRoot({ redis: url }));
else if (lock === 'module-unscoped')
  imports.push(FairLockModule.forRoot({ redis: url, requestScope: false }));
else if (lock === 'fair-lock') {
  imports.push(FairLockModule.forRoot({ redis: url }));
  decorate(FairLocked('route:<0>'));
} else if (lock !== 'none') {
  client = await subjectNamed(lock).open({ url });
  const section = Route.prototype.get;
  Route.prototype.get = async function get(key) {
    const release = await acquire(`route:${key}`);
    try {
      return await section.call(this, key);
    } finally {
      await release();
    }
  };
}
decorate(Get(':key'));
Param('key')(Route.prototype, 'get', 0);
Controller()(Route);

class App {}
const module = { module: App, imports, controllers: [Route] };
const app = await NestFactory.create(module, new FastifyAdapter(), { logger: false });
await app.listen(0, '127.0.0.1');

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send({ user, system });
});
process.send({ port: app.getHttpServer().address().port });

async function countLocks() {
  const { collectPrometheusMetrics } = await ofDist('prometheus/index.js');
  collectPrometheusMetrics();
}

async function traceLocks() {
  const { context } = await load('@opentelemetry/api');
  const { AsyncLocalStorageContextManager } = await load('@opentelemetry/context-async-hooks');
  const { BasicTracerProvider } = await load('@opentelemetry/sdk-trace-base');
  const { instrumentFairLock } = await ofDist('otel/index.js');
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  instrumentFairLock({ metrics: false, tracerProvider: new BasicTracerProvider() });
}

function decorate(decorator) {
  const descriptor = Object.getOwnPropertyDescriptor(Route.prototype, 'get');
  Object.defineProperty(Route.prototype, 'get', decorator(Route.prototype, 'get', descriptor) ?? descriptor);
}

async function acquire(key) {
  for (;;) {
    try {
      return await client.lock(key);
    } catch (error) {
      if (!error.message.includes('cannot wait')) throw error;
      await pause(POLL);
    }
  }
}
