/** docs/performance.md: each part that the bench writes stands between two comments with its name. */
import { readFileSync, writeFileSync } from 'node:fs';

const PAGE = `${import.meta.dirname}/../docs/performance.md`;

/** @param {string} name of a scenario, or `set-up` */
export function writePart(name, text) {
  const [begin, end] = [`<!-- bench: ${name} -->`, `<!-- end of bench: ${name} -->`];
  const page = readFileSync(PAGE, 'utf8');
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from)
    throw new Error(`docs/performance.md has no place for ${name}, between ${begin} and ${end}.`);
  writeFileSync(PAGE, `${page.slice(0, from)}${begin}\n\n${text}\n\n${page.slice(to)}`);
}
