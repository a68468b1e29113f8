/**
 * Writes the files of the board's page into a TypeScript file, as a side effect of its import. Both module formats and all bundlers
 * find it there: plugins that inline files work for one bundler each, and not under jest.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { writeGenerated } from './generated.mjs';

const ROOT = join(import.meta.dirname, '..');
const PAGE = join(ROOT, 'lib', 'board', 'page');
const TARGET = join(ROOT, 'lib', 'board', 'page.generated.ts');

/** What a browser loads to show the board. */
const MOST_BYTES = 60_000;
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml' };

const files = readdirSync(PAGE).sort();
const texts = files.map((file) => {
  const text = withoutRemarks(readFileSync(join(PAGE, file), 'utf8'));
  // A style sheet needs no spaces and line ends around these, and no semicolon at the end of a block.
  return extname(file) === '.css' ? text.replace(/ ?([{};,:])\s/g, '$1').replaceAll(';}', '}') : text;
});
const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
if (bytes > MOST_BYTES)
  throw new Error(`The page of the board has ${bytes} bytes; at most ${MOST_BYTES} are allowed.`);

const entries = files.map((file, index) => {
  const type = `${TYPES[extname(file)]}; charset=utf-8`;
  return `  ${JSON.stringify(file)}: { type: ${JSON.stringify(type)}, text: ${JSON.stringify(texts[index])} },\n`;
});
const code =
  '// Made by tools/embed-page.mjs from lib/board/page.\n' +
  'export type PageFile = { readonly type: string; readonly text: string };\n\n' +
  `export const page: Readonly<Record<string, PageFile>> = {\n${entries.join('')}};\n`;

writeGenerated(TARGET, code);

/** Comments that have lines of their own, and indentation, are a tenth of what is packed of the page. */
function withoutRemarks(text) {
  return text
    .replace(/^ +/gm, '')
    .replace(/^\/\*[\s\S]*?\*\/\n/gm, '')
    .replace(/^\/\/.*\n/gm, '');
}
