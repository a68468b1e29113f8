import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { fragmentsOf } from '../docs/pages.js';
import { redisUrl } from '../support/redis.js';
import { Newcomer } from './newcomer.js';

const INSTALL_TIMEOUT = 600_000;

const blocks = fragmentsOf('README.md');
const [install, example] = blocks;
const [program, runTwice, output] = blocks.slice(blocks.findIndex(({ file }) => file === 'shop.ts'));

/** What the example leaves out. */
const LEFT_OUT = `import { Injectable, Module } from '@nestjs/common';
import { FairLocked, FairLockModule } from 'nestjs-fair-lock';

const paid = new Set<string>();
const wasPaid = async (order: string): Promise<boolean> => paid.has(order);
const chargeCard = (_order: string): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100));
const markAsPaid = async (order: string): Promise<unknown> => paid.add(order);
`;

/** A customer clicks twice. */
const TWO_CLICKS = `import { NestFactory } from '@nestjs/core';
import { AppModule, Payments } from './app.module.js';

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const payments = app.get(Payments);
  console.log(await Promise.all([payments.pay('42'), payments.pay('42')]));
  await app.close();
}
void main();
`;

describe.each([
  { nest: '11', type: 'commonjs' },
  { nest: '12', type: 'module' },
] as const)('a reader of README with Nest $nest, "type": "$type" and no Redis on the PATH', (starter) => {
  const programs = mkdtempSync(join(tmpdir(), 'fair-lock-path-'));
  const newcomer = new Newcomer(starter, { ...process.env, PATH: programs, REDIS_URL: redisUrl() });
  beforeAll(async () => {
    for (const name of ['node', 'npm', 'sh', 'bash']) symlinkSync(pathOf(name), join(programs, name));
    const redis = new Redis(redisUrl());
    await redis.del('receipt:42');
    await redis.quit();
    await newcomer.createApplication();
  }, INSTALL_TIMEOUT);
  afterAll(async () => {
    await newcomer.leave();
    rmSync(programs, { recursive: true });
  });

  test(
    'installs it, sees the first example charge a card once, and the program print in two processes what README says',
    async () => {
      await newcomer.run(install!.text);
      newcomer.write(
        'src/app.module.ts',
        LEFT_OUT + example!.text.replace('redis://localhost:6379', redisUrl()),
      );
      newcomer.write('src/clicks.ts', TWO_CLICKS);
      newcomer.write(`src/${program!.file}`, program!.text);
      const printed = await newcomer.run(runTwice!.text);
      expect(printed.replace(/^[^]*?(?=order)/, '')).toBe(output!.text); // without npm's lines
      expect(await newcomer.run('node dist/clicks.js\n')).toBe("[ 'charged', 'already paid' ]\n");
    },
    INSTALL_TIMEOUT,
  );
});

function pathOf(name: string): string {
  return name === 'node'
    ? process.execPath
    : execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
}
