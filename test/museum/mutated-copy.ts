import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MiniRedis } from '../simulation/mini-redis/mini-redis.js';
import { RedisError } from '../simulation/mini-redis/reply.js';
import type { Mutation } from './exhibit.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What the tests need of the project. */
const COPIED = ['lib', 'test', 'sample-app', 'tools', 'jest.config.mjs', 'package.json', 'tsconfig.json'];
const GENERATED = 'lib/stores/redis/scripts/scripts.generated.ts';

/** A copy of the project in a folder of its own, changed. The working tree is never touched. */
export class MutatedCopy {
  readonly root = mkdtempSync(join(tmpdir(), 'fair-lock-museum-'));

  private constructor() {
    for (const name of COPIED) cpSync(join(ROOT, name), join(this.root, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(this.root, 'node_modules'));
  }

  /** @throws where a mutation does not apply: the code has moved on, and the exhibit must follow */
  static async make(mutations: readonly Mutation[]): Promise<MutatedCopy> {
    const copy = new MutatedCopy();
    try {
      for (const mutation of mutations) copy.change(mutation);
      execFileSync(process.execPath, [join(copy.root, 'tools', 'embed-lua.mjs')], { stdio: 'pipe' });
      await copy.checkScripts();
      return copy;
    } catch (error) {
      copy.remove();
      throw error;
    }
  }

  get lib(): string {
    return join(this.root, 'lib');
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  private change({ file, from, to }: Mutation): void {
    const path = join(this.lib, file);
    const parts = readFileSync(path, 'utf8').split(from);
    if (parts.length !== 2) {
      throw new Error(
        `the mutation does not apply: ${file} has ${JSON.stringify(from)} ${parts.length - 1} times, not once`,
      );
    }
    writeFileSync(path, parts.join(to));
  }

  /** A script that Redis cannot even compile would be noticed by everything, and prove nothing. */
  private async checkScripts(): Promise<void> {
    const scripts = (await import(pathToFileURL(join(this.root, GENERATED)).href)) as Record<
      string,
      readonly [name: string, numberOfKeys: number, ...parts: string[]]
    >;
    const redis = new MiniRedis({ clock: () => 0, runId: '' });
    for (const [name, , ...parts] of Object.values(scripts)) {
      const reply = redis.execute('EVAL', [parts.join('\n'), '0']);
      if (reply instanceof RedisError && reply.text.includes('compiling')) {
        throw new Error(`the mutation is not Lua: ${name}: ${reply.text}`);
      }
    }
  }
}
