import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Folders whose pages people read; `docs/api` and the site's own folders are written by a build. */
const FOLDERS = [
  '',
  'docs/',
  'docs/internals/',
  'docs/internals/decisions/',
  'docs/recipes/',
  'bench/',
  'test/',
  'sample-app/',
];

/** A fenced block of a page. */
export interface Fragment {
  /** Where it stands: `docs/recipes/cron.md:12`. */
  readonly place: string;
  readonly page: string;
  readonly language: string;
  /** What follows the language, such as `output`. */
  readonly words: readonly string[];
  readonly text: string;
  /** The name in its first line, where that is a comment such as `// src/shop.service.ts`. */
  readonly file: string | undefined;
}

export function pages(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(`${ROOT}${folder}`)
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}${name}`),
  ).sort();
}

export function textOf(page: string): string {
  return readFileSync(`${ROOT}${page}`, 'utf8');
}

/** All blocks of a page, from top to bottom; those in lists are indented. */
export function fragmentsOf(page: string, text = textOf(page)): Fragment[] {
  return [...text.matchAll(/^( *)```(\w*)(.*)\n((?:(?! *```$).*\n)*) *```$/gm)].map((match) => {
    const [, indent = '', language = '', rest = '', body = ''] = match;
    const code = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    return {
      place: `${page}:${text.slice(0, match.index).split('\n').length}`,
      page,
      language,
      words: rest.trim().split(/\s+/).filter(Boolean),
      text: code,
      file: /^\/\/ ([\w./-]+\.ts)\n/.exec(code)?.[1],
    };
  });
}

/** Suites that install packages of their own. */
const SUITES = ['recipes', 'migration'];

/** The suite that has what the code of a page imports: one of its own, or `docs`, which has what the project has. */
export function suiteOf(page: string): string {
  const imported = [...fragmentsOf(page), ...mainsOf(page)].flatMap(({ text }) => [
    ...text.matchAll(/ from '([^'.][^']*)'/g),
  ]);
  const packages = new Set(imported.map(([, name]) => name));
  return SUITES.find((suite) => dependenciesOf(suite).some((name) => packages.has(name))) ?? 'docs';
}

export function fragmentsOfSuite(suite: string): Fragment[] {
  return pages()
    .filter((page) => suiteOf(page) === suite)
    .flatMap((page) => [...fragmentsOf(page), ...mainsOf(page)]);
}

/** The programs that run what a page shows, where they would only be long there: `test/docs/mains/recipes/cron.md` for `docs/recipes/cron.md`. */
function mainsOf(page: string): Fragment[] {
  const mains = page.replace(/^docs\//, 'test/docs/mains/');
  if (mains === page || !existsSync(`${ROOT}${mains}`)) return [];
  return fragmentsOf(mains).map((fragment) => ({ ...fragment, page }));
}

function dependenciesOf(suite: string): string[] {
  const { dependencies } = JSON.parse(textOf(`test/${suite}/package.json`)) as { dependencies: object };
  return Object.keys(dependencies);
}
