import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { pages, ROOT, textOf } from './pages.js';

/** Links to other files, `[text](path#anchor)`, without pictures, addresses elsewhere and what stands in code. */
function linksOf(page: string): string[] {
  const prose = textOf(page).replaceAll(/^ *```[^]*?^ *```$|`[^`\n]*`/gm, '');
  return [...prose.matchAll(/(?<!!)\[(?:[^\]]|!\[[^\]]*\])*\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^(https?:|mailto:)/.test(link));
}

/** Pages that are named by their path in the repository, as in `docs/internals/protocol.md`. */
const namedPagesOf = (page: string): string[] =>
  [...textOf(page).matchAll(/`((?:docs\/[\w/-]+|\w+\/README|bench\/results|[A-Z]+)\.md)`/g)].map(
    ([, path = '']) => path,
  );

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

const { files: packed } = JSON.parse(textOf('package.json')) as { files: string[] };

const links = pages().flatMap((page) => linksOf(page).map((link) => [page, link] as const));

test.each(links)('%s links to %s, which exists', (page, link) => {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), path));
  expect(existsSync(join(ROOT, target))).toBe(true);
  if (anchor !== undefined) expect(anchorsOf(target)).toContain(anchor);
});

const named = pages().flatMap((page) => namedPagesOf(page).map((path) => [page, path] as const));

test.each(named)('%s names %s, which exists', (_, path) => {
  expect(existsSync(join(ROOT, path))).toBe(true);
});

/** Headings that messages lead to: those of core/errors/pages.ts, and those in the text of a message. */
const inMessages = execFileSync('git', ['ls-files', 'lib'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((file) => file.endsWith('.ts'))
  .flatMap((file) => [
    ...textOf(file).matchAll(
      /'docs\/([\w/-]+)\.md#([\w-]+)'|fair-lock\/docs\/([\w/-]+)\.md#([\w-]+)|'([\w/-]+)#([\w-]+)'/g,
    ),
  ])
  .map((match) => match.slice(1).filter((part) => part !== undefined) as [string, string]);

test('messages lead to headings', () => expect(inMessages.length).toBeGreaterThan(20));

test.each(inMessages)(
  'a message leads to docs/%s.md, which is packed, and has the heading %s',
  (page, anchor) => {
    expect(packed).toContain(`docs/${page}.md`);
    expect(anchorsOf(`docs/${page}.md`)).toContain(anchor);
  },
);

/** As `core/engine/acquirer.ts` or `stores/redis/view/`. */
const paths = [...textOf('docs/internals/architecture.md').matchAll(/`([\w.-]+\/[\w./-]*)`/g)].map(
  ([, path = '']) => path,
);

test.each([...new Set(paths)])('docs/internals/architecture.md names %s, which exists', (path) => {
  expect(['', 'lib', 'lib/stores'].some((base) => existsSync(join(ROOT, base, path)))).toBe(true);
});

/** npm shows the README with the links of the repository; other pages of the package have nothing around them. */
const linksInPackage = links.filter(([page]) => packed.includes(page));

const picturesInPackage = packed
  .filter((file) => file.endsWith('.md'))
  .flatMap((page) =>
    [...textOf(page).matchAll(/!\[[^\]]*\]\(([^)\s]+)\)/g)].map(([, path = '']) => [page, path] as const),
  );

test.each(picturesInPackage)('%s, which is packed, shows %s, which is packed too', (page, path) => {
  expect(packed).toContain(normalize(join(dirname(page), path)));
});

test.each(linksInPackage)('%s, which is packed, links to %s, which is packed too', (page, link) => {
  const [path = ''] = link.split('#');
  if (path !== '') expect([...packed, 'README.md']).toContain(normalize(join(dirname(page), path)));
});
