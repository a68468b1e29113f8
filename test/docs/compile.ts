import { dirname } from 'node:path';
import ts from 'typescript';
import { KNOWN_NAMES } from './context.js';
import { type Fragment, ROOT } from './pages.js';

/** The name by which the imports in front of a fragment call `context.ts`. */
const CONTEXT = 'context-of-the-pages';

/**
 * What the compiler says of each fragment. Fragments of a page that name a file can import one another.
 *
 * @param suite the folder of `test` from which packages are looked for
 */
export function compile(
  fragments: readonly Fragment[],
  suite: string,
): ReadonlyMap<Fragment, readonly string[]> {
  const options = compilerOptions();
  const sources = new Map<string, string>();
  const fragmentOf = new Map<string, Fragment>();
  for (const fragment of fragments) {
    const name = `${ROOT}test/${suite}/${nameOf(fragment)}`;
    if (sources.has(name)) throw new Error(`${fragment.place}: the page has a file ${fragment.file} already`);
    sources.set(name, asModule(fragment.text));
    fragmentOf.set(name, fragment);
  }
  const program = ts.createProgram([...sources.keys()], options, hostOf(options, sources));
  const problems = new Map<Fragment, string[]>();
  for (const [name, fragment] of fragmentOf) {
    const source = program.getSourceFile(name);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    problems.set(
      fragment,
      found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    );
  }
  return problems;
}

/** Those of this project: the strictest that the library is made for. */
function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, (file) => ts.sys.readFile(file)) as {
    config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, { ...ts.sys, readDirectory: () => [] }, ROOT);
  return {
    ...options,
    declaration: false,
    paths: { ...options.paths, [CONTEXT]: [`${ROOT}test/docs/context.ts`] },
  };
}

function hostOf(options: ts.CompilerOptions, sources: ReadonlyMap<string, string>): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const folders = new Set([...sources.keys()].map((name) => dirname(name)));
  return {
    ...host,
    fileExists: (name) => sources.has(name) || host.fileExists(name),
    readFile: (name) => sources.get(name) ?? host.readFile(name),
    directoryExists: (name) => folders.has(name) || (host.directoryExists?.(name) ?? true),
    getSourceFile: (name, language, ...rest) => {
      const text = sources.get(name);
      return text === undefined
        ? host.getSourceFile(name, language, ...rest)
        : ts.createSourceFile(name, text, language);
    },
  };
}

function nameOf({ page, place, file }: Fragment): string {
  return `${page.replaceAll(/\W/g, '-')}/${file ?? `line-${place.split(':')[1]}.ts`}`;
}

/** A whole module as it is, class members in a class; in front, the imports that the page leaves out. */
function asModule(text: string): string {
  const isModule =
    ts.transpileModule(text, {
      reportDiagnostics: true,
      compilerOptions: { experimentalDecorators: true, target: ts.ScriptTarget.ES2023 },
    }).diagnostics?.length === 0;
  const body = isModule ? text : `abstract class Example extends Members {\n${text}}\nexport { Example };\n`;
  const imports = Object.entries(KNOWN_NAMES).map(([from, names]) => {
    const used = names.filter((name) => uses(body, name) && !declares(text, name));
    return used.length === 0
      ? ''
      : `import { ${used.join(', ')} } from '${from === './context.js' ? CONTEXT : from}';`;
  });
  const members = isModule ? '' : `import { Members } from '${CONTEXT}';`;
  return `${imports.join('')}${members}export {};\n${body}`;
}

function uses(text: string, name: string): boolean {
  return new RegExp(`\\b${name}\\b`).test(text);
}

function declares(text: string, name: string): boolean {
  return new RegExp(
    `import [^;]*\\b${name}\\b[^;]* from|\\b(class|const|let|interface|type|function) ${name}\\b`,
  ).test(text);
}
