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
  const source = readFileSync(fileURLToPath(url), 'utf8');
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
    },
    transformers: { before: [reporting(url.slice(LIB.length))] },
  });
  return { format: 'module', source: outputText, shortCircuit: true };
}

/** Puts `trace.entered(file, name)` at the beginning of each function, and `trace.resumed(file, …)` around each `await`. */
function reporting(file) {
  return (context) => {
    const { factory } = context;
    const call = (what, ...more) =>
      factory.createCallExpression(
        factory.createPropertyAccessExpression(factory.createIdentifier('globalThis.fairLockTrace'), what),
        undefined,
        [factory.createStringLiteral(file), ...more],
      );
    const visit = (node) => {
      const visited = ts.visitEachChild(node, visit, context);
      if (ts.isAwaitExpression(visited)) return call('resumed', visited);
      return isFunction(visited) && visited.body ? withReport(visited) : visited;
    };
    const withReport = (node) => {
      const report = factory.createExpressionStatement(
        call('entered', factory.createStringLiteral(nameOf(node))),
      );
      const statements = ts.isBlock(node.body)
        ? node.body.statements
        : [factory.createReturnStatement(node.body)];
      return withBody(factory, node, factory.createBlock([report, ...statements], true));
    };
    return (sourceFile) => ts.visitEachChild(sourceFile, visit, context);
  };
}

function isFunction(node) {
  return (
    ts.isFunctionDeclaration(node) ||
    ts.isFunctionExpression(node) ||
    ts.isArrowFunction(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isConstructorDeclaration(node) ||
    ts.isGetAccessorDeclaration(node)
  );
}

function nameOf(node) {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  return node.name && ts.isIdentifier(node.name) ? node.name.text : '';
}

function withBody(factory, node, body) {
  const { modifiers, asteriskToken, name, typeParameters, parameters, type } = node;
  if (ts.isArrowFunction(node))
    return factory.updateArrowFunction(
      node,
      modifiers,
      typeParameters,
      parameters,
      type,
      node.equalsGreaterThanToken,
      body,
    );
  if (ts.isConstructorDeclaration(node))
    return factory.updateConstructorDeclaration(node, modifiers, parameters, body);
  if (ts.isGetAccessorDeclaration(node))
    return factory.updateGetAccessorDeclaration(node, modifiers, name, parameters, type, body);
  if (ts.isMethodDeclaration(node))
    return factory.updateMethodDeclaration(
      node,
      modifiers,
      asteriskToken,
      name,
      node.questionToken,
      typeParameters,
      parameters,
      type,
      body,
    );
  if (ts.isFunctionDeclaration(node))
    return factory.updateFunctionDeclaration(
      node,
      modifiers,
      asteriskToken,
      name,
      typeParameters,
      parameters,
      type,
      body,
    );
  return factory.updateFunctionExpression(
    node,
    modifiers,
    asteriskToken,
    name,
    typeParameters,
    parameters,
    type,
    body,
  );
}
