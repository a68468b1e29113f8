import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Writes a generated file if it is out of date. Processes that start together may do so together: a reader finds a whole file. */
export function writeGenerated(target, text) {
  if (existsSync(target) && readFileSync(target, 'utf8') === text) return;
  const unfinished = `${target}.${process.pid}`;
  writeFileSync(unfinished, text);
  renameSync(unfinished, target);
}
