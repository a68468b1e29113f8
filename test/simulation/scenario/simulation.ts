import { Checker } from '../checker/checker.js';
import type { Tally, Violation } from '../checker/history.js';
import { CONNECT_TIMEOUT } from '../../../lib/stores/redis-client/connection/own-options.js';
import type { LoadedClient } from '../world/load-client.js';
import { Random } from '../world/random.js';
import { nameScripts } from '../world/describe.js';
import { SimServer } from '../world/sim-server.js';
import { World } from '../world/world.js';
import { runFlow } from './flow.js';
import { FaultSchedule } from './fault-schedule.js';
import type { FaultTargets } from './inject.js';
import { timeLimit } from './time-limit.js';
import type { Plan } from './plan.js';
import { SimClient } from './sim-client.js';

export interface Outcome {
  readonly violations: readonly Violation[];
  readonly tally: Tally;
  readonly trace: readonly string[];
}

/** Longer than a client's timer can outlast the task for which it was set (`MAX_DELAY` in core/runtime/timers.ts), ms. */
const LONGEST_TIMER = 61_000;

/** One plan, played from the first connection to the last key that expires. */
export class Simulation {
  readonly world = new World();
  readonly server: SimServer;
  readonly checker: Checker;
  /** Whether flows begin new requests. */
  busy = true;
  private readonly living: SimClient[] = [];
  private readonly random: Random;
  private readonly faults: FaultSchedule;
  private unfinished = 0;

  constructor(
    private readonly plan: Plan,
    private readonly slots: readonly LoadedClient[],
    traced: boolean,
  ) {
    if (traced) this.world.lines = [];
    this.random = new Random(plan.weatherSeed, 1);
    this.server = new SimServer(
      this.world,
      new Random(plan.weatherSeed, 2),
      plan.lags,
      new Random(plan.weatherSeed, 3),
    );
    this.server.lease = plan.lease;
    this.server.redis.denied = plan.denied;
    const scripts = slots[0]?.scripts ?? new Map<string, string>();
    nameScripts(scripts);
    this.checker = new Checker(this.world, this.server, plan, this.living, scripts);
    this.faults = new FaultSchedule(plan, this.targets());
    this.world.afterEach = () => this.checker.afterEach();
    this.server.redis.onScript = (ran) => this.checker.afterScript(ran);
  }

  async run(): Promise<Outcome> {
    const { world, checker } = this;
    const onError = (error: unknown): void =>
      checker.findings.violate('unhandled', String((error as Error)?.stack ?? error));
    process.on('unhandledRejection', onError);
    process.on('uncaughtException', onError);
    process.on('warning', onError);
    try {
      await this.play();
    } finally {
      process.off('unhandledRejection', onError);
      process.off('uncaughtException', onError);
      process.off('warning', onError);
    }
    if (world.crash !== undefined) onError(world.crash);
    checker.findings.tally.commands = this.server.executed;
    return {
      violations: checker.findings.violations,
      tally: checker.findings.tally,
      trace: world.lines ?? [],
    };
  }

  private async play(): Promise<void> {
    const { world, plan, checker } = this;
    this.plan.clients.forEach((planned, index) => world.schedule(planned.boot, () => this.boot(index)));
    this.faults.begin();
    // Safety: faults happen.
    await world.run(plan.safety);
    // Liveness: all is well again, and every request of a live client is served.
    this.faults.heal();
    this.busy = false;
    this.askOnceMore();
    await world.run(plan.safety + timeLimit(plan, checker.excuses), () => this.unfinished === 0);
    checker.checkGaps();
    for (const { id, client } of checker.unserved()) {
      checker.findings.violate('lost-wake-up', `${client.process.name}/r${id} was never served`);
    }
    if (this.unfinished > 0)
      checker.findings.violate('lost-wake-up', `${this.unfinished} callers still wait for an answer`);
    // A client whose commands are hardly ever answered in time looks for a better connection for ever.
    if (!checker.excuses.isStrained) await this.rest();
    await this.closeAll();
  }

  /** No caller asks any more: every key expires, every timer ends, no command is sent. */
  private async rest(): Promise<void> {
    const { world, checker, server } = this;
    await this.checkKeys();
    // Clients look at the marker of strict mode at their own times.
    const isStrict = checker.excuses.protections.longestWait > 0;
    const commands = server.executed;
    await world.run(world.now + LONGEST_TIMER);
    if (server.executed > commands && !isStrict) {
      checker.findings.violate('leak', `${server.executed - commands} commands were sent at rest`);
    }
    for (const client of this.living) {
      if (client.process.alive && !client.closed && !client.isSubscribed) {
        checker.findings.violate('deaf', `${client.process.name} is not subscribed at rest`);
      }
    }
    const timer = world.pendingTimer();
    if (timer !== undefined && !isStrict)
      checker.findings.violate('leak', `a timer is left at rest: ${timer}`);
  }

  private async closeAll(): Promise<void> {
    const { world, checker } = this;
    const open = this.living.filter(({ process, closed }) => process.alive && !closed);
    for (const client of open) this.shutDown(client);
    await world.run(world.now + 3 * checker.excuses.commandTimeout + CONNECT_TIMEOUT);
    if (this.unfinished > 0)
      checker.findings.violate('closing', `${this.unfinished} clients did not close in time`);
    const timer = world.pendingTimer();
    if (timer !== undefined) checker.findings.violate('leak', `a timer is left after closing: ${timer}`);
    await this.checkKeys();
  }

  /** As long as anything may be kept after the last late copy of a command, and a little more; then no key is left. */
  private async checkKeys(): Promise<void> {
    const { world, plan, checker, server } = this;
    await world.run(Infinity, () => server.lateCopies === 0);
    const { longestLease, longestKept, longestWindow, commandTimeout } = checker.excuses;
    const steps = plan.faults.filter(({ kind }) => kind === 'server-step');
    const stepped = steps.reduce((sum, { amount }) => sum + Math.abs(amount), 0);
    await world.run(
      world.now +
        // Marks of `done` are kept for two leases.
        2 * longestLease +
        longestKept +
        // Each key is given a window more than it needs.
        3 * longestWindow +
        2 * commandTimeout +
        30_000 +
        stepped,
    );
    const keys = server.redis
      .presentKeys()
      .filter((key) => !key.endsWith(':primary') && !checker.mayBeLeft(key));
    if (keys.length > 0) checker.findings.violate('leak', `keys left: ${keys.join(', ')}`);
  }

  // ---- the plan ------------------------------------------------------------------------------------------------------

  private boot(index: number): void {
    const { plan, world, slots } = this;
    const [planned, loaded] = [plan.clients[index], slots[index]];
    if (!planned || !loaded) throw new Error('more clients than slots');
    const client = new SimClient(index, world, this.server, this.random, loaded, plan, planned, this.checker);
    this.living.push(client);
    void client.store.start();
    for (const flow of plan.flows) {
      if (flow.client === index) this.track(client, runFlow(this, client, flow.requests));
    }
  }

  /** A last request of each client for each lock. */
  private askOnceMore(): void {
    for (const client of this.living) {
      if (!client.process.alive || client.closed) continue;
      for (let lock = 0; lock < this.plan.names.length; lock++) {
        this.busy = true;
        this.track(client, runFlow(this, client, [{ lock, think: 0, waitTime: Infinity, hold: 5 }]));
        this.busy = false;
      }
    }
  }

  private track(client: SimClient, work: Promise<void>): void {
    this.unfinished += 1;
    let ended = false;
    const end = (): void => {
      if (!ended) this.unfinished -= 1;
      ended = true;
    };
    client.onDeath.push(end);
    void work.then(end);
  }

  private shutDown(client: SimClient): void {
    const { world, checker } = this;
    client.closed = true;
    const started = world.now;
    this.track(
      client,
      client.store.close().then(() => {
        const took = world.now - started;
        world.trace(() => `${client.process.name} has closed`);
        if (took > 2 * checker.excuses.commandTimeout + 500 && client.lastMute < started) {
          checker.findings.violate('closing', `${client.process.name} took ${took.toFixed(0)} ms to close`);
        }
      }),
    );
  }

  nameOf(lock: number): string {
    return this.plan.names[lock] ?? '';
  }

  private targets(): Omit<FaultTargets, 'dataOf'> {
    const { world, server, random, checker } = this;
    return {
      world,
      server,
      random,
      checker,
      client: (index) => this.living.find((client) => client.index === index),
      clients: () => this.living,
      kill: (client, serverHears) => {
        client.process.kill();
        for (const redis of client.redis.values()) redis.connection?.abandon(serverHears);
        checker.forget(client);
        for (const end of client.onDeath) end();
      },
      shutDown: (client) => this.shutDown(client),
      nameOf: (lock) => this.nameOf(lock),
      forceRelease: (client, lock) => {
        checker.commands.reason(client, client.keyOf(lock), 4);
        this.track(
          client,
          client.store.forceRelease(lock).then(
            () => undefined,
            () => undefined,
          ),
        );
      },
    };
  }
}
