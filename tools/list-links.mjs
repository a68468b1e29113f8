/** Every address outside of this repository that a page links to, for a check by hand: `npm run docs:links`. */
import { readdirSync, readFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...['docs', 'test', 'bench', 'sample-app', '.github'].flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, root), { recursive: true })
      .map((name) => `${folder}/${name}`)
      .filter((name) => name.endsWith('.md') && !/(^|\/)(node_modules|api|\.vitepress)\//.test(name)),
  ),
];
const found = new Map();
for (const page of pages) {
  for (const [, address] of readFileSync(new URL(page, root), 'utf8').matchAll(/\]\((https?:[^)\s]+)\)/g)) {
    found.set(address, [...(found.get(address) ?? []), page]);
  }
}
for (const [address, where] of [...found].sort()) console.log(`${address}  ${where.join(', ')}`);
