import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { FairLockModuleOptions } from 'nestjs-fair-lock';
import { eventually } from '../support/waiting.js';
import { DEADLINE, LEASE, TIME_LIMIT, WINDOW } from './scene.js';

const PROGRAM = fileURLToPath(new URL('leader.mjs', import.meta.url));

/** What leader.mjs says. Stamps are ns of the host's monotonic clock. */
export interface LeaderEvent {
  readonly type: 'state' | 'leads' | 'led' | 'told' | 'ends' | 'warning' | 'unhandled';
  readonly at: number;
  readonly worker: string;
  readonly state?: string;
  readonly token?: number;
  readonly isLeader?: boolean;
  readonly why?: string;
  readonly text?: string;
}

/** A process that leads whenever it can. */
export class LeaderProcess {
  readonly events: LeaderEvent[] = [];
  private readonly gone: Promise<unknown>;

  private constructor(
    readonly name: string,
    private readonly child: ChildProcess,
  ) {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      // The last line of a killed process may be torn.
      if (line.endsWith('}')) this.events.push({ ...(JSON.parse(line) as LeaderEvent), worker: name });
    });
    this.gone = once(child, 'close');
  }

  /** Resolves when it leads or follows. */
  static async start(name: string, redis: string): Promise<LeaderProcess> {
    const options: FairLockModuleOptions = {
      redis,
      watchdogTimeout: LEASE,
      livenessWindow: WINDOW,
      commandTimeout: DEADLINE,
    };
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    const leader = new LeaderProcess(name, child);
    await leader.event('state');
    return leader;
  }

  all(type: LeaderEvent['type']): LeaderEvent[] {
    return this.events.filter((event) => event.type === type);
  }

  /** Its `number`-th event of this type, from 1. */
  async event(type: LeaderEvent['type'], number = 1): Promise<LeaderEvent> {
    const told = `"${type}" of ${this.name}, the ${number}. time`;
    await eventually(() => this.all(type).length >= number, TIME_LIMIT, told);
    return this.all(type)[number - 1]!;
  }

  /** Its state, as it said last. */
  get state(): string | undefined {
    return this.all('state').at(-1)?.state;
  }

  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    this.child.kill(signal);
  }

  stop(): void {
    this.child.send('stop');
  }

  async close(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill('SIGCONT');
      this.child.send('close');
    }
    await this.gone;
  }
}
