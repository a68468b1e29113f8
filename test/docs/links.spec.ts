import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { pages, ROOT, textOf } from './pages.js';

/** The links of a page that lead to a file of this repository, without those in its code. */
function linksOf(page: string): string[] {
  const prose = textOf(page)
    .replaceAll(/^ *```[^]*?^ *```$/gm, '')
    .replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^(https?:|mailto:)/.test(link));
}

/** Headings as GitHub makes anchors of them, and as VitePress does. */
function anchorsOf(page: string): string[] {
  const prose = textOf(page).replaceAll(/^ *```[^]*?^ *```$/gm, '');
  return [...prose.matchAll(/^#{1,6} (.+)$/gm)].flatMap(([, heading = '']) => {
    const text = heading.toLowerCase();
    return [
      text.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(/\s/g, '-'),
      text.replaceAll(/[^\p{L}\p{N}]+/gu, '-').replaceAll(/^-|-$/g, ''),
    ];
  });
}

const links = pages().flatMap((page) => linksOf(page).map((link) => [page, link] as const));

test.each(links)('%s links to %s, which exists', (page, link) => {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), path));
  expect(existsSync(join(ROOT, target))).toBe(true);
  if (anchor !== undefined) expect(anchorsOf(target)).toContain(anchor);
});
