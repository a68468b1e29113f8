import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { add, type Counts } from './campaign.js';

const RUN = fileURLToPath(new URL('../support/run.mjs', import.meta.url));

/**
 * One campaign in several processes, each with its share of the seeds.
 *
 * @param options those of the command line, but for the seeds
 * @throws where a process ends without its closing line
 */
export async function runJobs(
  jobs: number,
  first: number,
  seeds: number,
  options: readonly string[],
): Promise<Counts> {
  const share = Math.ceil(seeds / jobs);
  const starts = Array.from({ length: jobs }, (_, i) => i * share).filter((from) => from < seeds);
  const parts = starts.map((from) =>
    runJob(['--seed', String(first + from), '--seeds', String(Math.min(share, seeds - from)), ...options]),
  );
  const total: Counts = {};
  for (const part of await Promise.all(parts)) add(total, part);
  return total;
}

/** Passes on what a process prints, but for its closing line. */
function runJob(args: readonly string[]): Promise<Counts> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [RUN, 'test/simulation/main.ts', ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let counts: Counts | undefined;
    createInterface(child.stdout).on('line', (line) => {
      if (line.startsWith('{')) counts = JSON.parse(line) as Counts;
      else console.log(line);
    });
    child.on('error', reject);
    child.on('close', (code) => {
      if (counts) resolve(counts);
      else reject(new Error(`a process of the simulation ended with ${code} and said nothing`));
    });
  });
}
