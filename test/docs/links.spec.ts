import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { linksOf, namedPagesOf } from '../../tools/page-links.mjs';
import { pages, ROOT, textOf } from './pages.js';

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

const links = pages().flatMap((page) => linksOf(textOf(page)).map((link) => [page, link] as const));

test.each(links)('%s links to %s, which exists', (page, link) => {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), path));
  expect(existsSync(join(ROOT, target))).toBe(true);
  if (anchor !== undefined) expect(anchorsOf(target)).toContain(anchor);
});

const named = pages().flatMap((page) => namedPagesOf(textOf(page)).map((path) => [page, path] as const));

test.each(named)('%s names %s, which exists', (_, path) => {
  expect(existsSync(join(ROOT, path))).toBe(true);
});
