/**
 * Follows one uncontended call of a method with `@FairLocked`, from the decorator to the command of ioredis and back, and
 * prints the files that it goes through: `npm run trace`. With `--write` it puts the list of files, each once, into
 * docs/architecture.md.
 *
 * A file is listed each time that control comes into it from another file. The aim is at most 16 files, each entered once on
 * the way out.
 */
import 'reflect-metadata';
import { readFile, writeFile } from 'node:fs/promises';
import { register } from 'node:module';
import { parseArgs } from 'node:util';
import { startRedisServer } from './redis-server.mjs';

const PAGE = new URL('../docs/architecture.md', import.meta.url);
const MARKS = /(<!-- trace -->\n)[\s\S]*?(<!-- \/trace -->)/;
/** Calls before the one that is traced, so that connections, scripts and the server's clock are known. */
const WARM_UP = 20;

const { values: options } = parseArgs({ options: { write: { type: 'boolean', default: false } } });

/** The parts of the way, and the files of each in the order in which control came into them. */
const way = new Map();
let part;
const went = (file, what) => {
  const steps = part && way.get(part);
  if (!steps) return;
  if (steps.at(-1)?.file !== file) steps.push({ file, functions: [] });
  if (what !== '' && !steps.at(-1).functions.includes(what)) steps.at(-1).functions.push(what);
};
globalThis.fairLockTrace = {
  entered: went,
  resumed: (file, value) => {
    went(file, '');
    return value;
  },
};
const begin = (name) => {
  part = name;
  if (name !== undefined) way.set(name, []);
};

register('./trace/hooks.mjs', import.meta.url);
const { FairLocked, FairLockModule } = await import('../lib/index.ts');
const { Module } = await import('@nestjs/common');
const { NestFactory } = await import('@nestjs/core');
const { Redis } = await import('ioredis');

class Orders {
  async pay() {
    if (part !== undefined) begin('section');
    await Promise.resolve();
    if (part !== undefined) begin('release: from the section to the command');
  }
}
Object.defineProperty(Orders.prototype, 'pay', lockedPay());
class App {}

/** A legacy decorator may return the new descriptor or change it in place. */
function lockedPay() {
  const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, 'pay');
  return FairLocked('order:<0>')(Orders.prototype, 'pay', descriptor) ?? descriptor;
}

const server = await startRedisServer();
Module({
  imports: [
    FairLockModule.forRoot({
      redis: (role) => observed(new Redis(server.url), role),
    }),
  ],
  providers: [Orders],
})(App);
const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] });
try {
  const orders = app.get(Orders);
  for (let i = 0; i < WARM_UP; i += 1) await orders.pay(42);
  begin('acquire: from the decorator to the command');
  await orders.pay(42);
  begin(undefined);
} finally {
  await app.close();
  await server.stop();
}
await report();

/** A client that tells when a script leaves for the server and when its reply is there. */
function observed(client, role) {
  const send = client.sendCommand;
  client.sendCommand = function (command, ...more) {
    const ours = role === 'commands' && command.name === 'evalsha' && part?.endsWith('to the command');
    if (!ours) return Reflect.apply(send, this, [command, ...more]);
    const back = part.startsWith('acquire')
      ? 'acquire: from the reply to the section'
      : 'release: from the reply to the caller';
    const reply = Reflect.apply(send, this, [command, ...more]);
    begin('');
    reply.then(
      () => begin(back),
      () => undefined,
    );
    return reply;
  };
  return client;
}

async function report() {
  const parts = [...way].filter(([name]) => name.includes(':'));
  const files = new Set(parts.flatMap(([, steps]) => steps.map(({ file }) => file)));
  const total = `${files.size} files of lib/ in all`;
  console.log([...parts.flatMap(([name, steps]) => [name, ...stepByStep(steps), '']), total].join('\n'));
  if (!options.write) return;
  const drawn = [...parts.flatMap(([name, steps]) => [name, ...filesOf(steps), '']), total].join('\n');
  const page = await readFile(PAGE, 'utf8');
  await writeFile(
    PAGE,
    page.replace(MARKS, (_, head, tail) => `${head}\n\`\`\`\n${drawn}\n\`\`\`\n\n${tail}`),
  );
}

function stepByStep(steps) {
  return steps.map(({ file, functions }, i) => {
    const again = steps.findIndex((step) => step.file === file) < i ? '  (again)' : '';
    return `  ${String(i + 1).padStart(2)}  ${file}${again}  ${functions.join(', ')}`.trimEnd();
  });
}

/** Each file once, in the order in which control first comes into it. */
function filesOf(steps) {
  return [...new Set(steps.map(({ file }) => file))].map((file) => `  ${file}`);
}
