/** Each part that the bench writes stands between two comments with its name, on one of these pages. */
import { readFileSync, writeFileSync } from 'node:fs';

/** The first has what users decide by. */
const PAGES = ['docs/performance.md', 'bench/results.md'];

/** @param {string} name of a scenario, or `set-up` */
export function writePart(name, text) {
  const [begin, end] = [`<!-- bench: ${name} -->`, `<!-- end of bench: ${name} -->`];
  for (const path of PAGES.map((page) => `${import.meta.dirname}/../${page}`)) {
    const page = readFileSync(path, 'utf8');
    const [from, to] = [page.indexOf(begin), page.indexOf(end)];
    if (from < 0 || to < from) continue;
    writeFileSync(path, `${page.slice(0, from)}${begin}\n\n${text}\n\n${page.slice(to)}`);
    return;
  }
  throw new Error(`Neither of ${PAGES.join(', ')} has a place for ${name}, between ${begin} and ${end}.`);
}
