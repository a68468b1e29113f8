import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort, redisUrl } from '../support/redis.js';
import { QUICK } from '../support/quick.js';
import { within } from '../support/waiting.js';

const run = promisify(execFile);

/** An npm script that compiles the application, then loads Nest, beside other tests. */
const START_TIMEOUT = 90_000;

export interface Starter {
  readonly nest: string;
  readonly type: 'commonjs' | 'module';
}

/** What the Nest CLI of each version makes. The gate has the newest only: `nest-11.spec.ts` installs the oldest there. */
export const STARTERS: readonly Starter[] = [
  ...(QUICK ? [] : [{ nest: '11', type: 'commonjs' } as const]),
  { nest: '12', type: 'module' },
];

/** Does what a page says in a fresh folder, with the tarball in place of the published package. */
export class Newcomer {
  private readonly folder = mkdtempSync(join(tmpdir(), 'fair-lock-newcomer-'));
  private readonly apps: ChildProcess[] = [];
  /** The ports of the page may be taken on this machine. */
  private readonly ports = new Map<string, number>();

  /** @param env of the commands */
  constructor(private readonly env: NodeJS.ProcessEnv = process.env) {}

  /** The part of an application made by the Nest CLI that a page builds on. */
  async createApplication({ nest, type }: Starter): Promise<void> {
    const scripts = { build: 'tsc', start: 'npm run build && node dist/main.js' };
    this.write('package.json', JSON.stringify({ private: true, type, scripts }));
    this.write('tsconfig.json', JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: ['src'] }));
    this.write('src/main.ts', MAIN);
    await run(
      'npm',
      [
        ...['install', '--no-audit', '--no-fund', '--ignore-scripts', 'reflect-metadata@0.2', 'rxjs@7'],
        ...['common', 'core', 'platform-express'].map((name) => `@nestjs/${name}@${nest}`),
        ...[`typescript@${nest === '11' ? '5.9' : '6'}`, '@types/node@20'],
      ],
      { cwd: this.folder },
    );
  }

  /** Begins with what another has so far. */
  copyApplication({ folder }: Newcomer): void {
    cpSync(folder, this.folder, { recursive: true, verbatimSymlinks: true });
  }

  write(file: string, text: string): void {
    const path = join(this.folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  /** What the commands print; a command that starts the application goes on in the background. */
  async run(commands: string): Promise<string> {
    for (const port of ['3000', '3001']) if (!this.ports.has(port)) this.ports.set(port, await freePort());
    const text = [...this.ports].reduce(
      (output, [port, free]) => output.replaceAll(port, String(free)),
      commands,
    );
    if (/npm start\n$/.test(text)) return await this.start(text);
    const install = text.replace(' nestjs-fair-lock ', ` ${process.env['FAIR_LOCK_TARBALL']} `);
    const { stdout } = await run('bash', ['-c', install], { cwd: this.folder, env: this.env });
    return stdout;
  }

  async leave(): Promise<void> {
    for (const app of this.apps) {
      const exit = once(app, 'exit');
      process.kill(-(app.pid ?? 0), 'SIGKILL');
      await exit;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async start(command: string): Promise<string> {
    const app = spawn('bash', ['-c', command], {
      cwd: this.folder,
      detached: true, // npm, its shell and the application end together
      env: { PORT: String(this.ports.get('3000')), ...this.env, REDIS_URL: redisUrl() },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.apps.push(app);
    let output = '';
    const started = new Promise<void>((resolve, reject) => {
      const read = (data: Buffer): void => {
        output += data.toString();
        if (output.includes('Nest application successfully started')) resolve();
      };
      app.stdout.on('data', read);
      app.stderr.on('data', read);
      app.once('exit', () => reject(new Error(`The application did not start:\n${output}`)));
    });
    await within(started, START_TIMEOUT, 'the application');
    return '';
  }
}

const MAIN = `import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

async function bootstrap() {
  const app = await NestFactory.create(AppModule);
  await app.listen(process.env.PORT ?? 3000);
}
void bootstrap();
`;

const COMPILER_OPTIONS = {
  module: 'nodenext',
  moduleResolution: 'nodenext',
  target: 'ES2023',
  emitDecoratorMetadata: true,
  experimentalDecorators: true,
  strictNullChecks: true,
  skipLibCheck: true,
  types: ['node'],
  rootDir: 'src',
  outDir: 'dist',
};
