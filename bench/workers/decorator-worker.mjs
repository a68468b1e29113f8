/** What @FairLocked costs on top of a call, and whether the heap stays flat. Run with --expose-gc; prints one JSON line. */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const ROOT = new URL('../../', import.meta.url);
/** The Nest that the package itself finds, not the one that its peers brought. */
const ofPackage = createRequire(new URL('package.json', ROOT));
await import(pathToFileURL(ofPackage.resolve('reflect-metadata')).href);
const { NestFactory } = await import(pathToFileURL(ofPackage.resolve('@nestjs/core')).href);
const { FairLocked, FairLockModule } = await import(new URL('dist/esm/index.js', ROOT).href);
const { rounds, calls, heapCalls } = JSON.parse(process.argv[2]);

class Counter {
  last = 0;

  async bare(id) {
    this.last = id;
  }

  async locked(id) {
    this.last = id;
  }

  async fixed(id) {
    this.last = id;
  }
}
decorate('locked', FairLocked('counter:<0>'));
decorate('fixed', FairLocked('counter'));

class App {}
const module = { module: App, imports: [FairLockModule.forRoot({ store: 'memory' })], providers: [Counter] };
const app = await NestFactory.createApplicationContext(module, { logger: false });
const counter = app.get(Counter);
const loads = {
  bareNs: (i) => counter.bare(i),
  lockedNs: (i) => counter.fixed(i),
  lockedByTemplateNs: (i) => counter.locked(i % 1_000),
};

for (const load of Object.values(loads)) await time(load, calls);
const results = [];
for (let round = 0; round < rounds; round += 1) {
  const measured = {};
  for (const [name, load] of Object.entries(loads)) measured[name] = await time(load, calls);
  measured.overheadNs = measured.lockedNs - measured.bareNs;
  results.push(measured);
}
const before = heap();
await time(loads.lockedByTemplateNs, heapCalls);
const heapBytesPerCall = (heap() - before) / heapCalls;
await app.close();
console.log(JSON.stringify(results.map((measured) => ({ ...measured, heapBytesPerCall }))));

function decorate(name, decorator) {
  const descriptor = Object.getOwnPropertyDescriptor(Counter.prototype, name);
  Object.defineProperty(
    Counter.prototype,
    name,
    decorator(Counter.prototype, name, descriptor) ?? descriptor,
  );
}

/** ns a call */
async function time(load, count) {
  const start = process.hrtime.bigint();
  for (let i = 0; i < count; i += 1) await load(i);
  return Number(process.hrtime.bigint() - start) / count;
}

function heap() {
  for (let i = 0; i < 3; i += 1) globalThis.gc();
  return process.memoryUsage().heapUsed;
}
