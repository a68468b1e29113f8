import type { Instant, Lease } from '../../lib/core/port/lease.js';
import type { Effect, ViewEvent } from '../../lib/stores/redis/view/events.js';
import type { Moment } from '../../lib/stores/redis-client/view/protocol-types.js';
import { Attempts, PRESENT, TIMES } from './attempts.js';
import type { Client } from './client.js';
import { keepOf, shareOf } from './kinds.js';
import type { LoadedCode } from './load-code.js';
import type { Asked, Outcome } from './outcome.js';
import { LONG, NOW } from './scales.js';
import { KEYS, PREFIX, RUN_ID } from './server.js';
import { TypedCommands } from './typed-commands.js';

export const GRACE = 250;
/** No section lasts longer, ms: more than one heartbeat. */
const LONGEST_SECTION = 4_500;
const PRIMARY = `${RUN_ID}/0`;

/** The constants that all clients share, which no state contains. */
export interface SharedByClients {
  readonly settings: { readonly timing: ReturnType<LoadedCode['timing']>; readonly replicated: false };
  readonly onStep: () => void;
  /** In place of the moment of the event that was handled last. */
  readonly noMoment: Moment;
}

/** Stands in for the driver of the lock: passes events to the machine and executes its effects. */
export class LockClient {
  readonly commands: TypedCommands;
  readonly attempts: Attempts;
  private client!: Client;
  private outcome!: Outcome;
  private later: ViewEvent[] = [];
  private handling = false;
  private readonly now: Instant = PRESENT;

  constructor(
    private readonly code: LoadedCode,
    private readonly shared: SharedByClients,
  ) {
    this.commands = new TypedCommands(code, shared.settings.timing);
    this.attempts = new Attempts(code, this.commands, (event) => this.event(event));
  }

  newClient(): Client {
    const clock = new this.code.ServerClock(this.shared.onStep);
    clock.observe(this.now, this.now, NOW.server);
    return {
      view: undefined,
      clock,
      highestToken: 0,
      lastOrder: NOW.order,
      upSince: NOW.monotonic - LONG,
      downSince: undefined,
      sequence: 0,
      attempts: [],
      sections: [],
      releases: [],
      asleep: undefined,
      wakesBy: 0,
      crashed: false,
    };
  }

  /** Lets something happen to a client, which changes. */
  happens(client: Client, what: () => void): Outcome {
    this.client = client;
    this.commands.client = client;
    this.outcome = { sent: [], abandoned: [], notes: [] };
    Object.assign(this.attempts, { client, outcome: this.outcome });
    Object.assign(this.code.clocks, this.now);
    this.commands.calls.highestToken = client.highestToken;
    this.commands.calls.lastOrder = client.lastOrder;
    what();
    client.highestToken = this.commands.calls.highestToken;
    client.lastOrder = this.commands.calls.lastOrder;
    if (client.view) client.view.now = this.shared.noMoment;
    return this.outcome;
  }

  request(asked: readonly Asked[]): void {
    const { client } = this;
    for (const one of asked) {
      const { kind, leaseTime } = one;
      const sequence = (client.sequence += 1);
      this.outcome.notes.push({ what: 'requested', sequence, asked: one });
      const alone = keepOf(kind) !== undefined;
      const share = shareOf(kind);
      const request = { sequence, leaseTime, tries: false, maxQueue: Infinity, alone, share, label: 'h/1' };
      this.event({ type: 'requested', request });
      const place = this.view.waiting.get(sequence);
      // Only a try looks at it.
      if (place) Object.assign(place, { since: -Infinity });
    }
    this.event({ type: 'turn ended' });
  }

  /** The wake-up time of the view, where it is reached. */
  wakeUp(): void {
    this.event({ type: 'due' });
  }

  message(text: string): void {
    const { client, code } = this;
    // The method that receives messages, with what it uses of the store.
    const store = {
      keyPrefix: '',
      options: { keyPrefix: PREFIX, lease: TIMES.lease },
      client: { connection: { clockOf: () => client.clock } },
      commands: this.commands.calls,
      drivers: {
        find: () => client.view && { dispatch: (event: ViewEvent) => this.event(event) },
        get: () => (void this.view, { keys: KEYS, dispatch: (event: ViewEvent) => this.event(event) }),
      },
    };
    code.RedisLockStore.prototype['onMessage'].call(store as never, text);
  }

  /** @param keep ms from the grant for which the lock is kept */
  endSection(sequence: number, keep: number | undefined): void {
    const { sections, releases } = this.client;
    const index = sections.findIndex((section) => section.sequence === sequence);
    const [section] = sections.splice(index, 1);
    const { grant, token, lease } = section!;
    const wasLost = isLost(lease);
    const kept = lease.end();
    if (!kept && !wasLost) this.outcome.notes.push({ what: 'lost', sequence });
    this.outcome.notes.push({ what: 'ended', sequence, token, kept });
    if (!this.client.view && !kept) return;
    if (!kept && !wasLost) this.event({ type: 'lease lost', grant });
    releases.push(grant);
    this.event({ type: 'section ended', grant, kept, keep });
  }

  cancel(sequence: number): void {
    this.outcome.notes.push({ what: 'left', sequence });
    this.event({ type: 'cancelled', request: sequence, why: 'wait time' });
  }

  subscription(up: boolean): void {
    const { client } = this;
    client.upSince = up ? NOW.monotonic : undefined;
    client.downSince = up ? undefined : NOW.monotonic;
    if (client.view) this.event({ type: 'subscription', upSince: client.upSince });
    if (up) this.attempts.sendAll('held');
  }

  /** The connection of the commands broke, and another is there. */
  reconnect(): void {
    const { client } = this;
    client.clock = new this.code.ServerClock(this.shared.onStep);
    this.attempts.cutOff();
    if (!client.view) return;
    this.event({ type: 'server', id: PRIMARY });
    this.event({ type: 'look' });
    this.attempts.sendAll('paused');
  }

  private get view() {
    const { client, code, shared } = this;
    return (client.view ??= new code.LockView(
      shared.settings,
      PRIMARY,
      client.upSince,
      this.commands.calls.highestToken,
    ));
  }

  private event(event: ViewEvent): void {
    if (this.handling) {
      this.later.push(event);
      return;
    }
    this.handling = true;
    try {
      for (let next: ViewEvent | undefined = event; next; next = this.later.shift()) {
        const moment = { ...this.now, order: this.commands.calls.lastOrder };
        for (const effect of this.code.handle(this.view, next, moment)) this.execute(effect);
      }
    } finally {
      this.handling = false;
      this.later = [];
    }
    if (this.client.view) this.client.view.effects = [];
  }

  private execute(effect: Effect): void {
    const { client } = this;
    const { notes } = this.outcome;
    switch (effect.type) {
      case 'send':
        return this.attempts.start(effect.command);
      case 'grant': {
        const { request: sequence, grant, since, left } = effect;
        const token = typeof grant === 'number' ? grant : client.view!.shares.get(sequence)!.number;
        const lease = new this.code.Lease('k', since, left);
        client.sections.push({ sequence, grant, token, lease, until: NOW.monotonic + LONGEST_SECTION });
        notes.push({
          what: 'granted',
          sequence,
          token,
          left: lease.remaining(),
          outdated: this.isOutdated(grant),
        });
        return;
      }
      case 'refuse':
        notes.push({ what: 'refused', sequence: effect.request, why: effect.refusal.why });
        return;
      case 'report place':
        notes.push({ what: 'queued', sequence: effect.request });
        return;
      case 'forget':
        client.view = undefined;
        return;
      case 'renew lease':
        return this.sectionOf(effect.grant)?.lease.renew(effect.since, effect.left);
      case 'suspect lease':
        return this.sectionOf(effect.grant)?.lease.suspect();
      case 'lose lease': {
        const section = this.sectionOf(effect.grant);
        if (!section || isLost(section.lease)) return;
        section.lease.lose(effect.why);
        notes.push({ what: 'lost', sequence: section.sequence });
        this.event({ type: 'lease lost', grant: effect.grant });
        return;
      }
      case 'end lease':
        return void this.sectionOf(effect.grant)?.lease.end();
      case 'released': {
        const index = client.releases.indexOf(effect.grant);
        if (index >= 0) client.releases.splice(index, 1);
        return;
      }
      default:
      // `wake up` stands in the view, and `await turn` ends with the request.
    }
  }

  /** Whether the client has seen a grant after that of this token. */
  private isOutdated(grant: number | string): boolean {
    const { batch } = this.client.view!;
    const last = batch ? batch.first + batch.sequences.length - 1 : Infinity;
    return typeof grant === 'number' && last < this.commands.calls.highestToken;
  }

  private sectionOf(grant: number | string) {
    return this.client.sections.find((section) => section.grant === grant);
  }
}

/** Whether it is known to be lost, without a look at the clocks. */
function isLost(lease: Lease): boolean {
  return lease['current'] === 'lost';
}
