import type { CommandFailure } from '../../lib/stores/redis-client/server/server-failure.js';
import type { Timing } from '../../lib/stores/redis/commands/timing.js';
import type { Command } from '../../lib/stores/redis/view/events.js';
import type { Client, OpenCommands, Senders, Sending } from './client.js';
import type { LoadedCode } from './load-code.js';
import { NOW } from './scales.js';
import { KEYS, RUN_ID } from './server.js';

/** The shipped typed calls, which make the arguments and read the replies; instead of sending, they hand over what they would send. */
export class TypedCommands {
  readonly calls: OpenCommands;
  client!: Client;
  private captured: Sending | undefined;

  constructor(code: LoadedCode, timing: Timing) {
    this.calls = this.capturing(code, timing);
  }

  /** What the typed call of the command would send now, and how it reads the reply. */
  typed(command: Command): Sending {
    const { calls } = this;
    switch (command.kind) {
      case 'acquire':
        void calls.acquire(KEYS, command.request, command.deadline);
        break;
      case 'join':
        void calls.join(KEYS, command.requests[0]!.sequence, command.requests.length, command.deadline);
        break;
      case 'release':
        void calls.release(KEYS, command.grant, command.markAlive);
        break;
      case 'end shares':
        void calls.endShares(KEYS, command, command.markAlive);
        break;
      case 'leave':
        void calls.leave(KEYS, command.request, command.markAlive);
        break;
      case 'heartbeat':
        void calls.heartbeat(KEYS, command.args, 0);
        break;
      case 'confirm':
        throw new Error('the exploration has no replicas');
    }
    return this.captured!;
  }

  private capturing(code: LoadedCode, timing: Timing): OpenCommands {
    const clockOf = () => this.client.clock;
    const connection = { serverRunId: RUN_ID, clockOf };
    const subscriber = {
      uncounted: new Set<string>(),
      serverRunId: RUN_ID,
      get upSince() {
        return self.client.upSince;
      },
    };
    // eslint-disable-next-line @typescript-eslint/no-this-alias
    const self = this;
    const client = { connection, subscriber, where: 'h/1', retry: undefined };
    const commands = new code.LockCommands(
      client as never,
      'me',
      timing,
      undefined,
    ) as unknown as OpenCommands;
    const retriable = (failure: CommandFailure): boolean => failure.retriable;
    // Each call gets a promise to itself, so that what waits for it is free to go. A search never yields: if the promise settled, or if all
    // shared one, whatever waits would pile up.
    const never = (): Promise<never> => new Promise(() => undefined);
    const senders: Omit<Senders, 'received'> = {
      clockOf,
      repeatUntil: (script, _keys, values, until, read) => {
        this.captured = { script, values: values(clockOf().atMost(until)), until, read, rule: retriable };
        return never();
      },
      repeat: (script, _keys, values, until, read, rule = retriable) => {
        this.captured = { script, values: values(0), until, read, rule };
        return never();
      },
      once: (script, _keys, values) => {
        const limit = clockOf().atMost(NOW.monotonic + timing.commandTimeout);
        const { readHeartbeat: read } = code;
        this.captured = { script, values: values(limit), until: 0, read, rule: () => false };
        return never();
      },
    };
    return Object.assign(commands, senders);
  }
}
