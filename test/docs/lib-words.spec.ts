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

/** The file with each comment on one line. */
const withJoinedComments = (file: string): string =>
  readFileSync(join(ROOT, file), 'utf8').replaceAll(/\n\s*(?:\*|\/\/|--)(?= )/g, '');

/** A number of a rule (R6, M8) or of a fault (F217) that is not in brackets behind words, with the words around it. */
const bareNumbersIn = (text: string): string[] =>
  text.replaceAll(/(?<=\w\W{0,3})\([^()]*\)/g, '').match(/.{0,40}\b[RMF]\d{1,3}\b.{0,40}/g) ?? [];

test.each(filesIn('lib', /(?<!generated)\.(?:ts|lua)$/))(
  '%s says a rule in words, and its number only in brackets behind them',
  (file) => {
    expect(bareNumbersIn(withJoinedComments(file))).toEqual([]);
  },
);
