import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import ts from 'typescript';
import { redisUrl } from '../support/redis.js';
import { fragmentsOf, ROOT, textOf } from './pages.js';

const README = textOf('README.md');
const [program, commands, output] = fragmentsOf('README.md').slice(
  fragmentsOf('README.md').findIndex(({ file }) => file === 'shop.ts'),
);

describe('the program of the README', () => {
  beforeEach(async () => {
    const redis = new Redis(redisUrl());
    await redis.del('receipt:42');
    await redis.quit();
  });

  test.each([
    ['an ES module', ts.ModuleKind.ESNext, 'module'],
    ['a CommonJS module', ts.ModuleKind.CommonJS, 'commonjs'],
  ])('charges an order once in two processes, as %s', async (_, module, type) => {
    const folder = join(ROOT, 'test/docs/programs', `readme-${type}`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(folder, 'dist'), { recursive: true });
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(ROOT, join(folder, 'node_modules/nestjs-fair-lock'));
    const { outputText } = ts.transpileModule(program?.text ?? '', {
      compilerOptions: {
        ...{ module, target: ts.ScriptTarget.ES2022, esModuleInterop: true },
        ...{ experimentalDecorators: true, emitDecoratorMetadata: true },
      },
    });
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type }));
    writeFileSync(join(folder, 'dist/shop.js'), outputText);

    const [build, run = ''] = commands?.text.split('\n') ?? [];
    expect(build).toBe('npm run build'); // of a Nest application, which this folder is not
    const env = { ...process.env, REDIS_URL: redisUrl() };
    const { stdout } = await promisify(execFile)('sh', ['-c', run], { cwd: folder, env });
    expect(stdout).toBe(output?.text);
  });
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
