import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from './pages.js';
import { translatedPhrasesOf } from './plain-words.js';

/** Texts of the package that users read: messages, the help of the program, the board, and the docstrings of the public types. */

const filesIn = (folder: string, pattern: RegExp): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => pattern.test(file))
    .map((file) => `${folder}/${file}`);

/** Generated files repeat others; a word alone is no sentence. */
const sources = filesIn('lib', /(?<!generated)\.(?:ts|js)$/);

function sentencesOf(file: string): string[] {
  const source = ts.createSourceFile(
    file,
    readFileSync(join(ROOT, file), 'utf8'),
    ts.ScriptTarget.Latest,
    true,
  );
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node))
      found.push(...node.text.split('\n').filter((line) => line.includes(' ')));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

const docstringLinesOf = (file: string): string[] =>
  (readFileSync(join(ROOT, file), 'utf8').match(/\/\*\*[^]*?\*\//g) ?? []).flatMap((comment) =>
    comment.replaceAll(/^\s*(?:\/\*)?\*+\/?\s?/gm, '').split('\n'),
  );

const phrasesIn = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => translatedPhrasesOf(line).map((phrase) => `${line}: ${phrase}`));

test.each(sources)('%s writes messages that a native reader does not stumble over', (file) => {
  expect(phrasesIn(sentencesOf(file))).toEqual([]);
});

test.each(filesIn('dist/esm', /\.d\.ts$/))(
  '%s has docstrings that a native reader does not stumble over',
  (file) => {
    expect(phrasesIn(docstringLinesOf(file))).toEqual([]);
  },
);
