import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { redisUrl } from '../support/redis.js';
import { eventually, SOON, within } from '../support/waiting.js';
import { type Answer, ask } from '../nest/web-app.js';

/** Cold, with two compilers beside it. */
const START_TIMEOUT = 90_000;
/** Nothing is held and nothing waits when it is told to close. */
const CLOSE_TIMEOUT = 30_000;

/** One process of the application. */
export class RunningApp {
  private constructor(
    private readonly process: ChildProcess,
    readonly url: string,
    /** What it wrote to the standard error so far, where Nest logs errors. */
    readonly errors: () => string,
  ) {}

  static async start(
    program: string,
    keyPrefix: string,
    environment: Record<string, string> = {},
  ): Promise<RunningApp> {
    const app = spawn(process.execPath, [program], {
      env: { ...process.env, REDIS_URL: redisUrl(), KEY_PREFIX: keyPrefix, ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let complaints = '';
    app.stderr.on('data', (data: Buffer) => (complaints += data.toString()));
    const output = once(createInterface({ input: app.stdout }), 'line') as Promise<[string]>;
    const ended = once(app, 'exit').then(() => {
      throw new Error(`The application ended before it was open: ${complaints}`);
    });
    ended.catch(() => undefined); // it ends after it was open, too
    const [line] = await within(Promise.race([output, ended]), START_TIMEOUT, 'the application');
    return new RunningApp(app, (JSON.parse(line) as { url: string }).url, () => complaints);
  }

  get(path: string): Promise<Answer> {
    return ask(`${this.url}/${path}`);
  }

  post(path: string, body: unknown = {}): Promise<Answer> {
    return ask(`${this.url}/${path}`, { method: 'POST', body });
  }

  /** Resolves when `count` requests wait for the account. */
  async waiting(count: number): Promise<void> {
    const isSo = async () => (await this.get('waiting')).body === String(count);
    await eventually(isSo, SOON, `${count} in line`);
  }

  /** Resolves with how it ended, when it was asked to. */
  async close(): Promise<number | null> {
    const exit = once(this.process, 'exit') as Promise<[number | null]>;
    this.process.kill('SIGTERM');
    try {
      return (await within(exit, CLOSE_TIMEOUT, 'the application to close'))[0];
    } finally {
      this.process.kill('SIGKILL');
    }
  }
}
