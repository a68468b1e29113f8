import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { entriesOf } from './declarations.js';

const run = promisify(execFile);

/** What an installation has beside the package. */
export interface Versions {
  readonly nest: string;
  readonly ioredis: string;
  /** The compiler that a new application of that Nest has. */
  readonly typescript: string;
}

/** A folder beside this file with the sources of an application. */
export type Application = 'app' | 'board' | 'copies' | 'mixed' | 'standalone' | 'transports';

/** One way to compile an application. */
export interface Build {
  readonly format: 'esm' | 'cjs';
  readonly compiler: 'tsc' | 'swc';
  readonly strict: boolean;
}

/** A folder outside of the repository, into which the tarball is installed beside one Nest and one ioredis. */
export class Installation {
  readonly folder = mkdtempSync(join(tmpdir(), 'fair-lock-consumer-'));

  /** @param more packages that this application needs besides, as npm names them */
  async install({ nest, ioredis, typescript }: Versions, more: readonly string[] = []): Promise<void> {
    const nestPackages = ['common', 'core', 'platform-express'].map((name) => `@nestjs/${name}@${nest}`);
    const others = ['reflect-metadata@0.2', 'rxjs@7', '@swc/core@1', '@swc/cli@0', 'esbuild@0'];
    await this.installWithoutNest({ ioredis, typescript }, [...nestPackages, ...others, ...more]);
  }

  /** For programs that use `nestjs-fair-lock/standalone` alone. */
  async installWithoutNest(
    { ioredis, typescript }: Omit<Versions, 'nest'>,
    more: readonly string[] = [],
  ): Promise<void> {
    this.write('package.json', { private: true });
    const tarball = process.env['FAIR_LOCK_TARBALL'] ?? '';
    const packages = [tarball, `ioredis@${ioredis}`, `typescript@${typescript}`, '@types/node@20', ...more];
    // Peers as they are listed here: the packages beside the oldest Nest name a newer patch of it.
    const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps'];
    await run('npm', ['install', ...flags, ...packages], { cwd: this.folder });
  }

  /** Compiles applications, as far as that compiler checks them. */
  async build(build: Build, ...applications: Application[]): Promise<void> {
    const name = nameOf(build);
    const folder = join(this.folder, name);
    const sources = ['common', ...applications].map((application) => `src/${application}`);
    for (const source of sources) {
      cpSync(new URL(`${source.replace('src/', '')}/`, import.meta.url), join(folder, source), {
        recursive: true,
      });
    }
    this.write(`${name}/package.json`, { type: build.format === 'esm' ? 'module' : 'commonjs' });
    this.write(`${name}/tsconfig.json`, tsconfig(build, applications));
    this.write(`${name}/.swcrc`, swcrc(build));
    const bin = join(this.folder, 'node_modules', '.bin');
    const args =
      build.compiler === 'tsc' ? [] : [...sources, '-d', 'dist', '--strip-leading-paths', '--quiet'];
    await run(join(bin, build.compiler), args, { cwd: folder }).catch(
      (error: { stdout?: string; stderr?: string }) => {
        throw new Error(`${name} does not compile:\n${error.stdout ?? ''}${error.stderr ?? ''}`);
      },
    );
  }

  /** The compiled program. */
  program(build: Build, application: Application): string {
    return join(this.folder, nameOf(build), 'dist', application, 'main.js');
  }

  /** Loads every entry of the package by `import` and by `require`. */
  async loadEntries(): Promise<void> {
    const entries = JSON.stringify(entriesOf(this.folder));
    for (const [type, load] of [
      ['commonjs', 'require'],
      ['module', 'await import'],
    ]) {
      const code = `for (const entry of ${entries}) ${load}(entry);`;
      await run(process.execPath, [`--input-type=${type}`, '-e', code], { cwd: this.folder });
    }
  }

  /** Bundles every entry of the package, without its peers, into one ES module; loads that. */
  async loadBundle(): Promise<void> {
    const entries = entriesOf(this.folder).map((entry) => `export * from ${JSON.stringify(entry)};\n`);
    writeFileSync(join(this.folder, 'entries.mjs'), entries.join(''));
    const peers = ['@nestjs/*', '@opentelemetry/api', 'ioredis', 'prom-client', 'reflect-metadata', 'rxjs'];
    const flags = '--bundle --platform=node --format=esm --outfile=bundle.mjs --log-level=error'.split(' ');
    const external = peers.map((peer) => `--external:${peer}`);
    const esbuild = join(this.folder, 'node_modules', '.bin', 'esbuild');
    await run(esbuild, ['entries.mjs', ...flags, ...external], { cwd: this.folder });
    await run(process.execPath, ['bundle.mjs'], { cwd: this.folder });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private write(file: string, content: object): void {
    writeFileSync(join(this.folder, file), JSON.stringify(content));
  }
}

const nameOf = ({ format, compiler, strict }: Build): string =>
  `${format}-${compiler}-${strict ? 'strict' : 'not-strict'}`;

const tsconfig = ({ strict }: Build, applications: readonly Application[]): object => ({
  compilerOptions: {
    module: 'nodenext',
    moduleResolution: 'nodenext',
    target: 'es2023',
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    strict,
    skipLibCheck: true,
    types: ['node'],
    rootDir: 'src',
    outDir: 'dist',
  },
  files: applications.map((application) => `src/${application}/main.ts`),
});

const swcrc = ({ format }: Build): object => ({
  jsc: {
    target: 'es2022',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    keepClassNames: true,
  },
  module: { type: format === 'esm' ? 'es6' : 'commonjs' },
});
