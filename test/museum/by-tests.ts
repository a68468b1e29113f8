import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ByTest } from './exhibit.js';
import type { MutatedCopy } from './mutated-copy.js';
import type { Verdict } from './verdict.js';

/** A run of jest may take this long, ms; a mutant may well hang. */
const LONGEST_RUN = 120_000;

interface TestResult {
  readonly file: string;
  readonly name: string;
  readonly failed: boolean;
  readonly message: string;
}

/** The tests that the exhibits name, with the code as it is. @throws if one is missing or fails */
export async function checkBaseline(proofs: readonly ByTest[], original: MutatedCopy): Promise<void> {
  const results = await runJest(original, proofs);
  for (const { file, name } of proofs) {
    const own = results.filter((result) => isOf(result, { file, name }));
    if (own.length === 0) throw new Error(`there is no test "${name}" in test/${file}`);
    const failed = own.find((result) => result.failed);
    if (failed)
      throw new Error(`"${failed.name}" fails with the code as it is, too: ${firstLines(failed.message)}`);
  }
}

export async function noticedByTest(proof: ByTest & { by: 'test' }, mutated: MutatedCopy): Promise<Verdict> {
  const results = (await runJest(mutated, [proof])).filter((result) => isOf(result, proof));
  const where = `test/${proof.file}: ${proof.name}`;
  if (results.length === 0) throw new Error(`${where} did not run`);
  const failed = results.find((result) => result.failed);
  return { killed: failed !== undefined, where, how: failed ? firstLines(failed.message) : '' };
}

function isOf(result: TestResult, { file, name }: { file: string; name: string }): boolean {
  return result.file.endsWith(join('test', file)) && result.name.includes(name);
}

async function runJest(copy: MutatedCopy, proofs: readonly ByTest[]): Promise<TestResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'fair-lock-museum-report-'));
  const report = join(folder, 'report.json');
  const names = [...new Set(proofs.map(({ name }) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))];
  const files = [...new Set(proofs.map(({ file }) => join('test', file)))];
  try {
    await run(copy.root, [
      '--experimental-vm-modules',
      'node_modules/jest/bin/jest.js',
      ...files,
      ...['--testNamePattern', names.join('|'), '--json', '--outputFile', report],
      '--forceExit',
    ]);
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as JestReport;
    return testResults.flatMap(({ name: file, message, assertionResults }) => {
      // A file that does not even load would be noticed by everything, and prove nothing.
      if (assertionResults.length === 0) throw new Error(`${file} did not run: ${firstLines(message)}`);
      return assertionResults
        .filter(({ status }) => status === 'passed' || status === 'failed')
        .map(({ fullName, status, failureMessages }) => ({
          file,
          name: fullName,
          failed: status === 'failed',
          message: failureMessages[0] ?? '',
        }));
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface JestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

function run(cwd: string, args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, stdio: 'ignore', timeout: LONGEST_RUN });
    child.on('error', reject);
    child.on('close', () => resolve());
  });
}

/** The first words of a failure, without colours and stack. */
function firstLines(message: string): string {
  // eslint-disable-next-line no-control-regex
  const plain = message.replace(/\u001b\[\d+m/g, '');
  const lines = plain.split('\n').map((line) => line.trim());
  const stack = lines.findIndex((line) => line.startsWith('at '));
  return lines
    .slice(0, stack < 0 ? undefined : stack)
    .filter((line) => line !== '')
    .join(' ')
    .slice(0, 160);
}
