import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('app/main.mjs', import.meta.url));

/** What an application locks with: the old package, both, or nestjs-fair-lock. */
export type Release = 'before' | 'both' | 'after';

/** A running instance of an application, and what it said. */
export class Instance {
  sold = 0;
  overlaps = 0;
  readonly failures: string[] = [];
  private readonly process: ChildProcess;
  private readonly watchers = new Set<() => void>();

  constructor(name: string, release: Release, article: string) {
    this.process = spawn(process.execPath, [MAIN, name, release, article], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    for (const output of [this.process.stdout, this.process.stderr]) {
      if (output)
        createInterface({ input: output }).on('line', (line) =>
          this.read(line, output === this.process.stdout),
        );
    }
    this.process.on('exit', (code) => {
      if (code !== 0) this.failures.push(`the process ended with ${code}`);
      this.look();
    });
  }

  /** Resolves when it has sold `count` more, or cannot any more. */
  sells(count: number): Promise<void> {
    const goal = this.sold + count;
    return this.until(() => this.sold >= goal || this.process.exitCode !== null);
  }

  /** Resolves when it has seen another section run beside its own, or cannot any more. */
  overlapping(): Promise<void> {
    return this.until(() => this.overlaps > 0 || this.process.exitCode !== null);
  }

  /** Lets it finish what it does. */
  async stop(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.stdin?.end();
    await once(this.process, 'exit');
  }

  kill(): void {
    this.process.kill('SIGKILL');
  }

  private read(line: string, ofOurs: boolean): void {
    if (ofOurs && line === 'sold') this.sold += 1;
    else if (ofOurs && line === 'overlap') this.overlaps += 1;
    else if (!/EBADENGINE|Warning|trace-warnings/.test(line)) this.failures.push(line);
    this.look();
  }

  private until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!condition()) return;
        this.watchers.delete(look);
        resolve();
      };
      this.watchers.add(look);
      look();
    });
  }

  private look(): void {
    for (const watcher of this.watchers) watcher();
  }
}
