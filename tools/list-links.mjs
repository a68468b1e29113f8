/** Every address outside of this repository that a page links to, for a check by hand: `node tools/list-links.mjs`. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

// By git, which leaves out what was installed: test/recipes/node_modules has a link to this folder.
const list = ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'];
const pages = execFileSync('git', list, { encoding: 'utf8' }).trim().split('\n');
const found = new Map();
for (const page of pages) {
  for (const [, address] of readFileSync(page, 'utf8').matchAll(/\]\((https?:[^)\s]+)\)/g)) {
    found.set(address, [...(found.get(address) ?? []), page]);
  }
}
for (const [address, where] of [...found].sort()) console.log(`${address}  ${where.join(', ')}`);
