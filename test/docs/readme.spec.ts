import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Redis } from 'ioredis';
import ts from 'typescript';
import { redisUrl } from '../support/redis.js';
import { ROOT, textOf } from './pages.js';

/** Of four orders in two processes, three are sold. */
const OUTCOME = ['sold out', 'sold, 0 left', 'sold, 1 left', 'sold, 2 left'];

const README = textOf('README.md');
const example = /^```ts\n\/\/ shop\.ts\n([\s\S]*?)^```$/m.exec(README)?.[1] ?? '';

describe('the first example of the README', () => {
  let redis: Redis;

  beforeEach(async () => {
    redis = new Redis(redisUrl());
    await redis.del('lamp');
  });

  afterEach(async () => {
    await redis.del('lamp');
    await redis.quit();
  });

  test.each([
    ['an ES module', ts.ModuleKind.ESNext, 'mjs'],
    ['a CommonJS module', ts.ModuleKind.CommonJS, 'cjs'],
  ])('sells three lamps of three to four orders of two processes, as %s', async (_, module, ending) => {
    const folder = join(ROOT, 'test/docs/programs', `readme-${ending}`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const { outputText } = ts.transpileModule(example, {
      compilerOptions: {
        ...{ module, target: ts.ScriptTarget.ES2022, esModuleInterop: true },
        ...{ experimentalDecorators: true, emitDecoratorMetadata: true },
      },
    });
    const program = join(folder, `shop.${ending}`);
    writeFileSync(program, outputText);

    const outputs = await Promise.all([play(program), play(program)]);
    expect(outputs.flatMap((output) => output.trim().split('\n')).sort()).toEqual(OUTCOME);
  });

  async function play(program: string): Promise<string> {
    const child = spawn(process.execPath, [program], {
      env: { ...process.env, REDIS_URL: redisUrl() },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
    return output;
  }
});

test('the figures of what it costs stand together in a section of docs/performance.md', () => {
  const [before = '', costs = '', after = ''] = README.split(/^(## What it costs\n[^]*?)(?=^## )/m);
  const sections = textOf('docs/performance.md').split(/^## /m).map(figuresOf);
  const measured = (line: string): boolean =>
    sections.some((section) => figuresOf(line).every((figure) => section.includes(figure)));
  const lines = costs.split('\n').filter((line) => figuresOf(line).length > 0);
  expect(lines).not.toHaveLength(0);
  expect(lines.filter((line) => !measured(line))).toEqual([]);
  expect(before + after).not.toMatch(/\d (?:µs|%|×|requests)/); // where this test would not see it
});

/** Numbers, without those that are a part of a date, a version or a path. */
function figuresOf(text: string): string[] {
  return text.match(/(?<![\w.-])\d+(?:[.,]\d+)*(?![\w-]|\.\d)/g) ?? [];
}
