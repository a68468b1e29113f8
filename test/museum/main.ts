import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Subject } from '../simulation/campaign.js';
import { checkBaseline, noticedByTest } from './by-tests.js';
import { Explorer, isExplored } from './by-exploration.js';
import { noticedBySimulation } from './by-simulation.js';
import type { ByTest, Exhibit } from './exhibit.js';
import { HISTORIC } from './historic.js';
import { MutatedCopy } from './mutated-copy.js';
import { REPLICATION } from './replication.js';
import { RULES } from './rules.js';
import { SHARING } from './sharing.js';
import type { Verdict } from './verdict.js';

const HELP = `npm run museum -- [options]
  Puts failures that locks really had into a copy of our code, one by one, and shows that each is noticed.
  --only TEXT   only exhibits whose class or change contains TEXT
  --explore     looks for each by \`npm run explore\` instead; leaves out those that change what is not explored
  --states N    with --explore: most states of one scope (default 80000)`;

const LIB = fileURLToPath(new URL('../../lib', import.meta.url));

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    explore: { type: 'boolean', default: false },
    states: { type: 'string', default: '80000' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) console.log(HELP);
else {
  const chosen = [...HISTORIC, ...RULES, ...SHARING, ...REPLICATION].filter(({ of, what }) =>
    `${of} ${what}`.includes(values.only),
  );
  if (values.explore) {
    const explorer = new Explorer(LIB, Number(values.states));
    await show(chosen.filter(isExplored), (exhibit, { lib }) => explorer.notices(exhibit, lib));
  } else {
    await checkTests(chosen);
    const original = new Subject(LIB);
    await show(chosen, ({ proof }, mutated) =>
      proof.by === 'test'
        ? noticedByTest(proof, mutated)
        : noticedBySimulation(proof, new Subject(mutated.lib), original),
    );
  }
}

type Notice = (exhibit: Exhibit, mutated: MutatedCopy) => Verdict | Promise<Verdict>;

async function show(exhibits: readonly Exhibit[], notice: Notice): Promise<void> {
  const survivors: string[] = [];
  print('class of failure, or rule', 'what was changed in our code', 'noticed by', 'how', 'killed');
  print('---', '---', '---', '---', '---');
  for (const exhibit of exhibits) {
    const { killed, where, how } = await examine(exhibit, notice);
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
async function examine(exhibit: Exhibit, notice: Notice): Promise<Verdict> {
  let mutated: MutatedCopy | undefined;
  try {
    mutated = await MutatedCopy.make(exhibit.mutations);
    return await notice(exhibit, mutated);
  } catch (error) {
    return { killed: false, where: 'not examined', how: (error as Error).message };
  } finally {
    mutated?.remove();
  }
}

function print(...cells: string[]): void {
  console.log(`| ${cells.map((cell) => cell.replace(/\s+/g, ' ').replaceAll('|', '\\|')).join(' | ')} |`);
}
