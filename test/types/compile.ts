/** Compiles decorated classes against the declarations of the package, with the compilers and the settings of applications. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { QUICK } from '../support/quick.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COMPILERS = join(import.meta.dirname, 'node_modules');
/** The one that builds the package. */
const BUILDER = join(ROOT, 'node_modules', 'typescript');

type Version = '5.2' | '5.9' | '6' | '7';
/** The versions that the classes are compiled with: those between the oldest and the newest are for the night. */
export const VERSIONS: readonly Version[] = QUICK ? ['5.2', '7'] : ['5.2', '5.9', '6', '7'];

/** Compiler options, as in a tsconfig.json. */
export type Settings = Readonly<Record<string, unknown>>;

/** What the oldest compiler knows, strict. */
const SETTINGS: Settings = {
  target: 'ES2022',
  module: 'nodenext',
  moduleResolution: 'nodenext',
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  isolatedModules: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  skipLibCheck: true,
  noEmit: true,
  noErrorTruncation: true,
  types: ['node'],
  paths: { 'nestjs-fair-lock': ['../lib/index.d.ts'] },
};

/** The declarations of the package, a file for each module, and a folder for each compilation. */
export class Application {
  private readonly folder = mkdtempSync(join(tmpdir(), 'fair-lock-types-'));
  private projects = 0;

  /** Writes the declarations; the code itself is checked by `tsc --noEmit`. */
  async prepare(): Promise<void> {
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'));
    this.write('package.json', { type: 'module' });
    const emit = ['--noEmit', 'false', '--noCheck', '--declaration', '--emitDeclarationOnly'];
    const project = ['-p', join(ROOT, 'lib', 'tsconfig.build.json'), '--outDir', join(this.folder, 'lib')];
    const output = await tsc(BUILDER, [...project, ...emit], ROOT);
    if (output !== '') throw new Error(`The package has no declarations: ${output}`);
  }

  /** What the compiler says of each class body, in order; empty where it has nothing against it. */
  async diagnosticsOf(
    version: Version,
    bodies: readonly string[],
    settings: Settings = {},
  ): Promise<string[]> {
    const sources = bodies.map(
      (body) =>
        `import { FairLocked, FairLockInterceptor } from 'nestjs-fair-lock';
         import { applyDecorators, Get } from '@nestjs/common';
         import { of, Subject } from 'rxjs';
         export const used = [of, Subject, applyDecorators, Get, FairLockInterceptor];
         export class Case${body.startsWith('<') ? body : ` { ${body} }`}`,
    );
    const project = this.newProject(settings);
    sources.forEach((source, index) => writeFileSync(join(project, `case-${index}.ts`), source));
    return this.compile(
      version,
      project,
      sources.map((_, index) => `case-${index}.ts`),
    );
  }

  /** What the compiler writes of the types of a file beside this one: its declarations, or what is wrong with it. */
  async declarationsOf(version: Version, name: string): Promise<string> {
    const project = this.newProject({ noEmit: false, declaration: true, emitDeclarationOnly: true });
    cpSync(join(import.meta.dirname, name), join(project, name));
    const [diagnostics = ''] = await this.compile(version, project, [name]);
    return diagnostics || readFileSync(join(project, name.replace(/\.ts$/, '.d.ts')), 'utf8');
  }

  /** The declarations of a module of the package. */
  declared(module: string): string {
    return readFileSync(join(this.folder, 'lib', `${module}.d.ts`), 'utf8');
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private newProject(settings: Settings): string {
    const name = `project-${this.projects++}`;
    mkdirSync(join(this.folder, name));
    const compilerOptions = { ...SETTINGS, ...settings };
    this.write(`${name}/tsconfig.json`, { compilerOptions, include: ['.'] });
    return join(this.folder, name);
  }

  private async compile(version: Version, project: string, files: readonly string[]): Promise<string[]> {
    const output = await tsc(
      join(COMPILERS, `typescript${version}`),
      ['-p', '.', '--pretty', 'false'],
      project,
    );
    const found = new Map(files.map((file) => [file, '']));
    let file = '';
    for (const line of output.split('\n').filter((each) => each !== '')) {
      const [, begun, rest] = /^([\w.-]+)\(\d+,\d+\): (.*)$/.exec(line) ?? [];
      file = begun ?? file;
      const before = found.get(file);
      if (before === undefined)
        throw new Error(`TypeScript ${version} does not compile this project: ${output}`);
      found.set(file, `${before}${rest ?? line}\n`);
    }
    return [...found.values()];
  }

  private write(file: string, content: object): void {
    writeFileSync(join(this.folder, file), JSON.stringify(content));
  }
}

/** What a compiler prints. It fails where it has something to say. */
function tsc(compiler: string, args: readonly string[], cwd: string): Promise<string> {
  const options = { cwd, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [join(compiler, 'bin', 'tsc'), ...args], options, (error, stdout, stderr) => {
      if (error !== null && stdout === '') reject(new Error(stderr, { cause: error }));
      else resolve(stdout);
    });
  });
}
