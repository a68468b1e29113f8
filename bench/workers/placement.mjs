import { readFileSync } from 'node:fs';

/** Of the fields behind the name of the program in /proc/<pid>/stat, the CPU that it ran on last. */
const PROCESSOR = 36;

/** Whether this process and another ran on one CPU last; undefined where the system does not tell. */
export function onOneCpuWith(pid) {
  try {
    return lastCpu('self') === lastCpu(pid);
  } catch {
    return undefined;
  }
}

function lastCpu(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(') ') + 2).split(' ')[PROCESSOR];
}
