import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Subject } from '../simulation/campaign.js';
import { checkBaseline, noticedByTest } from './by-tests.js';
import { noticedBySimulation } from './by-simulation.js';
import type { ByTest, Exhibit } from './exhibit.js';
import { HISTORIC } from './historic.js';
import { MutatedCopy } from './mutated-copy.js';
import { REPLICATION } from './replication.js';
import { RULES } from './rules.js';
import type { Verdict } from './verdict.js';

const HELP = `npm run museum -- [options]
  Puts failures that locks really had into a copy of our code, one by one, and shows that each is noticed.
  --only TEXT   only exhibits whose class or change contains TEXT`;

const { values } = parseArgs({
  options: { only: { type: 'string', default: '' }, help: { type: 'boolean', default: false } },
});

if (values.help) console.log(HELP);
else
  await show(
    [...HISTORIC, ...RULES, ...REPLICATION].filter(({ of, what }) => `${of} ${what}`.includes(values.only)),
  );

async function show(exhibits: readonly Exhibit[]): Promise<void> {
  const original = new Subject(fileURLToPath(new URL('../../lib', import.meta.url)));
  await checkTests(exhibits);
  const survivors: string[] = [];
  print('class of failure, or rule', 'what was changed in our code', 'noticed by', 'how', 'killed');
  print('---', '---', '---', '---', '---');
  for (const exhibit of exhibits) {
    const { killed, where, how } = await examine(exhibit, original);
    print(exhibit.of, exhibit.what, where, how, killed ? 'yes' : 'NO');
    if (!killed) survivors.push(`${exhibit.of}: ${exhibit.what}`);
  }
  const mutants = exhibits.length;
  console.log(JSON.stringify({ mutants, killed: mutants - survivors.length, survivors }));
  if (survivors.length > 0 || mutants === 0) process.exitCode = 1;
}

/** A test that fails with the code as it is would prove nothing. */
async function checkTests(exhibits: readonly Exhibit[]): Promise<void> {
  const tests = exhibits.map(({ proof }) => proof).filter((proof): proof is ByTest => proof.by === 'test');
  if (tests.length === 0) return;
  const unchanged = await MutatedCopy.make([]);
  try {
    await checkBaseline(tests, unchanged);
  } finally {
    unchanged.remove();
  }
}

/** An exhibit that cannot be examined counts as a survivor: it proves nothing. */
async function examine({ mutations, proof }: Exhibit, original: Subject): Promise<Verdict> {
  let mutated: MutatedCopy | undefined;
  try {
    mutated = await MutatedCopy.make(mutations);
    return proof.by === 'test'
      ? await noticedByTest(proof, mutated)
      : await noticedBySimulation(proof, new Subject(mutated.lib), original);
  } catch (error) {
    return { killed: false, where: 'not examined', how: (error as Error).message };
  } finally {
    mutated?.remove();
  }
}

function print(...cells: string[]): void {
  console.log(`| ${cells.map((cell) => cell.replace(/\s+/g, ' ').replaceAll('|', '\\|')).join(' | ')} |`);
}
