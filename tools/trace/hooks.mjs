// Module hooks for `npm run trace`: they compile lib/ in memory and let each function report that it was entered, and that it went on
// after an `await`. The working tree and the built package stay as they are.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const LIB = new URL('../../lib/', import.meta.url).href;

export async function resolve(specifier, context, next) {
  if (specifier.startsWith('.') && specifier.endsWith('.js') && context.parentURL?.startsWith(LIB)) {
    const url = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
    if (existsSync(url)) return { url: url.href, shortCircuit: true };
  }
  return next(specifier, context);
}

export async function load(url, context, next) {
  if (!url.startsWith(LIB) || !url.endsWith('.ts')) return next(url, context);
  const source = withReports(url.slice(LIB.length), readFileSync(fileURLToPath(url), 'utf8'));
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
    },
  });
  return { format: 'module', source: outputText, shortCircuit: true };
}

/** Puts `trace.entered(file, name)` at the beginning of each function, and `trace.resumed(file, …)` around each `await`. */
function withReports(file, source) {
  const insertions = new Map();
  const insert = (at, text, join) => insertions.set(at, join(insertions.get(at) ?? '', text));
  const before = (at, text) => insert(at, text, (outer, inner) => outer + inner);
  const after = (at, text) => insert(at, text, (outer, inner) => inner + outer);
  const visit = (node) => {
    if (ts.isAwaitExpression(node)) {
      before(node.getStart(tree), `globalThis.fairLockTrace.resumed('${file}', `);
      after(node.end, ')');
    } else if (ts.isFunctionLike(node) && node.body) {
      const report = `globalThis.fairLockTrace.entered('${file}', '${nameOf(node)}')`;
      if (ts.isBlock(node.body)) {
        before(node.body.getStart(tree) + 1, `${report};`);
      } else {
        before(node.body.getStart(tree), `(${report}, `);
        after(node.body.end, ')');
      }
    }
    ts.forEachChild(node, visit);
  };
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.ES2023);
  visit(tree);
  const places = [...insertions].sort(([a], [b]) => b - a);
  return places.reduce((text, [at, inserted]) => text.slice(0, at) + inserted + text.slice(at), source);
}

function nameOf(node) {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  return node.name && ts.isIdentifier(node.name) ? node.name.text : '';
}
