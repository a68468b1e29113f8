/** What the compiler of an application says of the declarations of the package, with `skipLibCheck: false`. */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { QUICK } from '../support/quick.js';

const PACKAGE = 'nestjs-fair-lock';

/** How an application finds a package, and how strictly it is checked. */
export interface Check {
  readonly resolution: 'nodenext' | 'bundler' | 'node10';
  readonly format: 'esm' | 'cjs';
  readonly strict: boolean;
}

const ALL: readonly Check[] = [true, false].flatMap((strict) => [
  { resolution: 'nodenext', format: 'esm', strict } as const,
  { resolution: 'nodenext', format: 'cjs', strict } as const,
  { resolution: 'bundler', format: 'esm', strict } as const,
  // Applications that the command line of an older Nest 11 made.
  { resolution: 'node10', format: 'cjs', strict } as const,
]);
/**
 * Those of an installation. In the gate each setting once, the older ones with the oldest Nest: `npm run check-package` asks every
 * resolution whether it finds the files.
 */
export function checksOf(versions: 'oldest' | 'newest'): readonly Check[] {
  if (!QUICK) return ALL;
  return versions === 'oldest'
    ? [{ resolution: 'node10', format: 'cjs', strict: false }]
    : [{ resolution: 'nodenext', format: 'esm', strict: true }];
}

/** The names under which the installed package is imported: the main one and each subpath. */
export function entriesOf(folder: string): string[] {
  const path = join(folder, 'node_modules', PACKAGE, 'package.json');
  const { exports } = JSON.parse(readFileSync(path, 'utf8')) as { exports: Record<string, unknown> };
  return Object.keys(exports)
    .filter((entry) => entry !== './package.json')
    .map((entry) => PACKAGE + entry.slice('.'.length));
}

/** What the subpaths need besides: the packages that are no more than optional peers, fit for that Nest. */
export function optionalPeers({ nest }: { readonly nest: string }): string[] {
  const path = new URL('../../package.json', import.meta.url);
  const { peerDependenciesMeta = {}, devDependencies } = JSON.parse(readFileSync(path, 'utf8')) as {
    peerDependenciesMeta?: object;
    devDependencies: Record<string, string>;
  };
  const major = nest.split('.')[0];
  return Object.keys(peerDependenciesMeta).map((name) =>
    name.startsWith('@nestjs/') ? `${name}@${major}` : `${name}@${devDependencies[name] ?? 'latest'}`,
  );
}

/** The errors in the declarations of the package, and in the imports of `entries`; errors in other packages are not ours. */
export async function declarationErrors(
  folder: string,
  check: Check,
  entries = entriesOf(folder),
): Promise<string[]> {
  const name = `types-${check.resolution}-${check.format}-${check.strict ? 'strict' : 'not-strict'}`;
  const project = join(folder, name);
  mkdirSync(project);
  const write = (file: string, text: string): void => writeFileSync(join(project, file), text);
  write('package.json', JSON.stringify({ type: check.format === 'esm' ? 'module' : 'commonjs' }));
  write('tsconfig.json', JSON.stringify(tsconfig(check, majorOf(folder, 'typescript'))));
  const imports = entries.map((entry, index) => `import * as entry${index} from '${entry}';`);
  write(
    'all.ts',
    `${imports.join('\n')}\nexport const all = [${entries.map((_, index) => `entry${index}`).join(', ')}];\n`,
  );
  const tsc = join(folder, 'node_modules', 'typescript', 'bin', 'tsc');
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [tsc, '--pretty', 'false'], { cwd: project }, (_error, stdout) =>
      resolve(stdout),
    );
  });
  const ours = new RegExp(`^(?:\\S*node_modules/${PACKAGE}/|all\\.ts|tsconfig\\.json|error )`);
  return output.split('\n').filter((line) => ours.test(line));
}

function majorOf(folder: string, name: string): number {
  const path = join(folder, 'node_modules', name, 'package.json');
  return parseInt((JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version, 10);
}

function tsconfig({ resolution, strict }: Check, typescript: number): object {
  const module = { nodenext: 'nodenext', bundler: 'esnext', node10: 'commonjs' }[resolution];
  return {
    compilerOptions: {
      module,
      moduleResolution: resolution,
      target: 'es2023',
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      strict,
      skipLibCheck: false,
      noEmit: true,
      types: ['node'],
      ...(resolution === 'node10' && { ignoreDeprecations: `${typescript}.0` }),
    },
    include: ['all.ts'],
  };
}
