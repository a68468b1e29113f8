import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What stands in for jest: a JSON of how often each file fails before it passes. */
const STUB = `
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
const [name, given, ...options] = process.argv.slice(2);
const failing = JSON.parse(given);
const chosen = options.includes('--runTestsByPath') ? Object.keys(failing).filter((file) => options.includes(file)) : Object.keys(failing);
const memory = new URL(name + '.memory', import.meta.url);
const left = existsSync(memory) ? JSON.parse(readFileSync(memory, 'utf8')) : failing;
const testResults = chosen.map((file) => {
  const status = left[file]-- > 0 ? 'failed' : 'passed';
  const assertionResults = [{ status: 'passed', fullName: 'one' }, { status, fullName: 'two' }];
  return { name: process.cwd() + '/' + file, status, assertionResults };
});
writeFileSync(memory, JSON.stringify(left));
const count = (wanted) => testResults.flatMap((file) => file.assertionResults).filter(({ status }) => status === wanted).length;
const path = options.find((option) => option.startsWith('--outputFile=')).slice('--outputFile='.length);
writeFileSync(path, JSON.stringify({ numPassedTests: count('passed'), numFailedTests: count('failed'), testResults }));
console.log('7 passed, 0 failed');
process.exit(count('failed'));
`;

describe('the gate', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fair-lock-gate-test-'));
    writeFileSync(join(folder, 'stub.mjs'), STUB);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Runs a plan: JavaScript in which `stub(name, { file: failures })` is a suite. */
  function run(plan: string): { status: number | null; lines: string[]; last: string } {
    writeFileSync(
      join(folder, 'steps.mjs'),
      `import { command, counted } from '${ROOT}tools/gate/steps.mjs';
       const stub = (name, failing) => ({
         name,
         reports: true,
         again: true,
         argv: (files = []) => [process.execPath, '${folder}/stub.mjs', name, JSON.stringify(failing), '--runTestsByPath', ...(files.length > 0 ? files : Object.keys(failing))],
       });
       export default ${plan};`,
    );
    const { status, stdout } = spawnSync(
      process.execPath,
      [`${ROOT}tools/gate/main.mjs`, join(folder, 'steps.mjs')],
      {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, GATE_END_WITHIN: '500' },
      },
    );
    const lines = stdout.trimEnd().split('\n');
    return { status, lines, last: lines.at(-1) ?? '' };
  }

  test('counts the tests of suites and each other command as one, and ends with one line of that form', () => {
    const { status, lines, last } = run(
      `{ first: [command('true')], lanes: { computes: [stub('a', { x: 0, y: 0 })], waits: [stub('b', { z: 0 }), command('true')] } }`,
    );
    expect(last).toBe('8 passed, 0 failed');
    expect(lines.filter((line) => /^\d+ passed, \d+ failed$/.test(line))).toHaveLength(1);
    expect(status).toBe(0);
  });

  test('runs a file that failed once more, without the others, and passes with a word on it', () => {
    const { status, lines, last } = run(
      `{ first: [], lanes: { computes: [stub('a', { x: 1, y: 0 })], waits: [] } }`,
    );
    expect(lines).toContain('  unsteady: x');
    expect(lines.filter((line) => line.startsWith('--- again: a'))).toHaveLength(1);
    expect(last).toBe('4 passed, 0 failed');
    expect(status).toBe(0);
  });

  test('fails for a file that fails again, and names its test', () => {
    const { status, lines, last } = run(
      `{ first: [], lanes: { computes: [stub('a', { x: 2, y: 1, z: 0 })], waits: [command('true')] } }`,
    );
    expect(lines).toContain('  a: x: two');
    expect(lines).toContain('  unsteady: y');
    expect(last).toBe('6 passed, 1 failed');
    expect(status).toBe(1);
  });

  test('fails if more than three files are unsteady', () => {
    const { status, last } = run(
      `{ first: [], lanes: { computes: [stub('a', { w: 1, x: 1 })], waits: [stub('b', { y: 1, z: 1 })] } }`,
    );
    expect(last).toBe('8 passed, 1 failed');
    expect(status).toBe(1);
  });

  test('runs a command that failed once more', () => {
    const { status, lines } = run(
      `{ first: [], lanes: { computes: [command('test -e ${folder}/seen || { touch ${folder}/seen; false; }')], waits: [command('false')] } }`,
    );
    expect(lines.filter((line) => line.startsWith('  unsteady: test -e'))).toHaveLength(1);
    expect(lines).toContain('  false: exit status 1');
    expect(status).toBe(1);
  });

  test('gives no second try to a command that says so', () => {
    const { status, lines } = run(
      `{ first: [], lanes: { computes: [command('test -e ${folder}/seen || { touch ${folder}/seen; false; }', { again: false })], waits: [] } }`,
    );
    expect(lines.filter((line) => line.startsWith('--- again'))).toHaveLength(0);
    expect(status).toBe(1);
  });

  test('ends if what all others need fails twice', () => {
    const { status, lines, last } = run(
      `{ first: [command('false')], lanes: { computes: [command('echo reached')], waits: [] } }`,
    );
    expect(lines.join()).not.toContain('reached');
    expect(last).toBe('0 passed, 1 failed');
    expect(status).toBe(1);
  });

  test('fails for a suite that ran no test, wrote no report, or ended badly after its tests', () => {
    const { lines, last } = run(
      `{ first: [], lanes: { computes: [stub('empty', {}), counted('true')], waits: [{ ...stub('bad', {}), argv: () => ['bash', '-c', 'for last; do :; done; echo "{\\\\"numPassedTests\\\\":3,\\\\"numFailedTests\\\\":0}" >"\${last#*=}"; exit 3', 'bash'] }] } }`,
    );
    expect(lines).toEqual(
      expect.arrayContaining(['  empty: no test ran', '  true: it wrote no report', '  bad: exit status 3']),
    );
    expect(last).toBe('3 passed, 3 failed');
  });

  test('stops what hangs, and its children, and what no time is left for', () => {
    const { status, lines, last } = run(
      `{ first: [], lanes: { computes: [command('sleep 60 & wait')], waits: [command('true')] }, stepLimit: 0.01 }`,
    );
    expect(lines).toContain('  sleep 60 & wait: it was stopped after 1 s');
    expect(last).toBe('1 passed, 1 failed');
    expect(status).toBe(1);
  });

  test('stops a suite that does not end after its tests, and names it', () => {
    const { lines, last } = run(
      `{ first: [], lanes: { computes: [{ ...stub('open', {}), argv: () => ['bash', '-c', '"$@"; sleep 60', 'bash', ...stub('open', { x: 0 }).argv()] }], waits: [] } }`,
    );
    expect(lines).toContain('  open: it did not end after its tests');
    expect(last).toBe('2 passed, 1 failed');
  });

  test('fails for a report that was cut short', () => {
    const { lines, last } = run(
      `{ first: [], lanes: { computes: [{ ...stub('cut', {}), argv: () => ['bash', '-c', 'for last; do :; done; echo { >"\${last#*=}"; exit 3', 'bash'] }], waits: [] } }`,
    );
    expect(lines).toContain('  cut: exit status 3');
    expect(last).toBe('0 passed, 1 failed');
  });

  test('prints each step with its log, as one piece, and how long it took', () => {
    const { lines } = run(
      `{ first: [], lanes: { computes: [command('echo one; sleep 0.3; echo two')], waits: [command('echo other; sleep 0.1; echo another')] } }`,
    );
    const at = lines.indexOf('| one');
    expect(lines[at + 1]).toBe('| two');
    expect(lines[lines.indexOf('| other') + 1]).toBe('| another');
    expect(lines.filter((line) => /^ {2}(computes|waits) .* \d+:\d\d min, /.test(line))).toHaveLength(2);
  });
});
