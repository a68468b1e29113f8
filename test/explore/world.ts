import type { Mutation } from '../simulation/world/load-client.js';
import { TIMES } from './attempts.js';
import { EMPTY_BOOK, Violation, writeBook, type Book } from './book.js';
import type { Client } from './client.js';
import { GraphCodec } from './graph.js';
import { heldOf } from './held.js';
import { loadCode } from './load-code.js';
import { GRACE, LockClient } from './lock-client.js';
import type { Outcome } from './outcome.js';
import { EMPTY_NETWORK } from './network.js';
import { later, microsIn, NOW, renumbered, toldMicros, withMicros, withoutFractions } from './scales.js';
import type { Passed } from './scales.js';
import { EMPTY_SERVER, renamed, Server, serverLater, serverRenamed, exactIn, type Ran } from './server.js';
import { remembered, Texts } from './texts.js';
import { tidy } from './tidy.js';

/** A state of everything: the numbers of the texts of the server, of the book, and of each client and its network. */
export type State = readonly number[];

export const SERVER = 0;
export const BOOK = 1;
export const clientAt = (client: number): number => 2 + 2 * client;
export const networkAt = (client: number): number => 3 + 2 * client;

/** What the search asks about a client. */
export interface Facts {
  /** In how many ms it next has something to do by itself. */
  readonly due: number;
  readonly lineIsDue: boolean;
  readonly attemptsAreDue: boolean;
  /** Sections: whether it must end now, and whether its lease still counts. */
  readonly sections: readonly {
    readonly sequence: number;
    readonly token: number;
    readonly mustEnd: boolean;
    readonly counts: boolean;
  }[];
  readonly waiting: readonly number[];
  readonly made: number;
  readonly asleep: Client['asleep'];
  readonly mustWake: boolean;
  readonly crashed: boolean;
  readonly up: boolean;
  readonly steady: boolean;
  readonly mustResubscribe: boolean;
  readonly downForLong: boolean;
  /** It neither waits, holds, releases nor sends. */
  readonly idle: boolean;
}

/** As in lib/stores/redis/view/grant.ts. */
const FIRST_REPORT = 100;
/** How long a subscription stays down at most, and a client asleep, ms. */
const LONGEST_DOWN = 1_500;
export const LONGEST_SLEEP = 39_000;

export interface Acted {
  readonly client: number;
  readonly outcome: Outcome;
}

/**
 * The shipped code as pure functions on texts. What each did is remembered, so most steps of a search are look-ups.
 */
export class World {
  readonly texts = new Texts();
  readonly server = new Server();
  private readonly lockClient: LockClient;
  private readonly codec: GraphCodec;
  private readonly acted = new Map<string, Acted>();
  private readonly ran = new Map<string, Ran & { readonly id: number }>();
  private readonly moved = new Map<string, number>();
  readonly held = remembered((id: number) => heldOf(this.texts.text(id)));
  readonly facts = remembered((id: number) => this.factsAnew(id));
  private readonly micros = remembered((id: number) => microsIn(this.texts.text(id)));
  private readonly exact = remembered((id: number) => exactIn(this.texts.text(id)));
  private readonly clocks;
  private readonly timing;

  constructor(lib: string, mutations: readonly Mutation[] = []) {
    const code = loadCode(lib, mutations);
    this.clocks = code.clocks;
    const timing = (this.timing = code.timing(TIMES.lease, TIMES.window, TIMES.commandTimeout));
    const settings = { timing, replicated: false as const };
    const onStep = (): void => undefined;
    const noMoment = { monotonic: 0, wall: 0, order: 0 };
    this.codec = new GraphCodec([timing, settings, onStep, noMoment]);
    this.lockClient = new LockClient(code, { settings, onStep, noMoment });
  }

  get runs(): number {
    return this.ran.size;
  }

  initial(clients: number): State {
    const client = this.texts.id(this.written(this.lockClient.newClient()));
    const network = this.texts.id(EMPTY_NETWORK);
    const state = [this.texts.id(EMPTY_SERVER), this.texts.id(writeBook(EMPTY_BOOK))];
    for (let i = 0; i < clients; i++) state.push(client, network);
    return state;
  }

  /** A client that is gone, whatever it knew. */
  crashedClient(): number {
    return this.texts.id(this.written({ ...this.lockClient.newClient(), crashed: true, upSince: undefined }));
  }

  bookOf(state: State): Book {
    return JSON.parse(this.texts.text(state[BOOK]!)) as Book;
  }

  /** @param name names what happens, with all that it depends on */
  act(id: number, name: string, what: (client: LockClient, state: Client) => void): Acted {
    const key = `${id} ${name}`;
    let acted = this.acted.get(key);
    if (!acted) {
      const client = this.read(id);
      let outcome: Outcome;
      try {
        outcome = this.lockClient.happens(client, () => what(this.lockClient, client));
      } catch (error) {
        throw error instanceof Violation ? error : new Violation('threw', String((error as Error).message));
      }
      acted = { client: this.texts.id(this.written(client)), outcome };
      this.acted.set(key, acted);
    }
    return acted;
  }

  run(server: number, script: string, args: readonly string[], subscribed: string) {
    const key = `${server} ${subscribed} ${script} ${args.join(' ')}`;
    let ran = this.ran.get(key);
    if (!ran) {
      const found = Object.values(this.lockClient.commands.calls.scripts).find(
        ({ name }) => name === script,
      )!;
      try {
        const result = this.server.run(this.texts.text(server), found, args, subscribed);
        ran = { ...result, id: this.texts.id(result.server) };
      } catch (error) {
        throw new Violation('script', String((error as Error).message));
      }
      this.ran.set(key, ran);
    }
    return ran;
  }

  /** The text of a state when time has passed. */
  later(id: number, passed: Passed, isServer = false): number {
    return this.changed(id, `later ${passed.server} ${passed.monotonic} ${passed.wall}`, (text) =>
      isServer ? serverLater(text, passed) : later(text, passed),
    );
  }

  changed(id: number, name: string, change: (text: string) => string): number {
    const key = `${id} ${name}`;
    let result = this.moved.get(key);
    if (result === undefined) this.moved.set(key, (result = this.texts.id(change(this.texts.text(id)))));
    return result;
  }

  /** The same state as it is told, so that situations which are alike are equal. */
  told(state: State): State {
    const union = new Set<number>();
    for (const id of state) for (const value of this.micros(id)) union.add(value);
    const changed = toldMicros(
      [...union].sort((a, b) => a - b),
      this.exactMicros(state),
    );
    if (!changed) return state;
    return state.map((id) => {
      const own = this.micros(id).filter((value) => changed.has(value));
      if (own.length === 0) return id;
      const name = `told ${own.map((value) => changed.get(value)).join()}`;
      return this.changed(id, name, (text) => withMicros(text, changed));
    });
  }

  /** Times in µs of which more than the order counts: in what is on its way, and some of the server. */
  private exactMicros(state: State): ReadonlySet<number> {
    const exact = new Set(this.exact(state[SERVER]!));
    for (let i = networkAt(0); i < state.length; i += 2)
      for (const value of this.micros(state[i]!)) exact.add(value);
    return exact;
  }

  /** The same state with its clients in a fixed order, and which client each had been. */
  sorted(state: State): { readonly state: State; readonly order: readonly number[] } {
    const order: number[] = [];
    for (let client = 0; clientAt(client) < state.length; client++) order.push(client);
    order.sort(
      (a, b) =>
        this.texts.compare(state[clientAt(a)]!, state[clientAt(b)]!) ||
        this.texts.compare(state[networkAt(a)]!, state[networkAt(b)]!) ||
        a - b,
    );
    if (order.every((client, i) => client === i)) return { state, order };
    const names = order.map((_, client) => order.indexOf(client));
    const name = `renamed ${names.join()}`;
    const result = [
      this.changed(state[SERVER]!, name, (text) => serverRenamed(text, names)),
      this.changed(state[BOOK]!, name, (text) => writeBook(JSON.parse(renamed(text, names)) as Book)),
    ];
    for (const client of order) result.push(state[clientAt(client)]!, state[networkAt(client)]!);
    return { state: result, order };
  }

  private read(id: number): Client {
    return this.codec.read(this.texts.text(id)) as Client;
  }

  /** A client when time has passed. */
  clientLater(id: number, passed: Passed): number {
    return this.changed(id, `later ${passed.server} ${passed.monotonic} ${passed.wall}`, (text) =>
      this.written(this.codec.read(later(text, passed)) as Client),
    );
  }

  private written(client: Client): string {
    tidy(client, this.timing, FIRST_REPORT);
    return renumbered(withoutFractions(this.codec.write(client)), client.lastOrder);
  }

  private factsAnew(id: number): Facts {
    const client = this.read(id);
    const { view, attempts, sections, releases, asleep, crashed, upSince, downSince } = client;
    this.clocks.monotonic = NOW.monotonic;
    this.clocks.wall = NOW.wall;
    const viewDue = view?.wakeUpAt ?? Infinity;
    const attemptsDue = Math.min(Infinity, ...attempts.map(({ at }) => at));
    const sectionsDue = Math.min(Infinity, ...sections.map(({ until }) => until));
    const down = downSince === undefined ? -Infinity : NOW.monotonic - downSince;
    const subscriptionDue = downSince === undefined ? Infinity : downSince + LONGEST_DOWN;
    const due = asleep
      ? client.wakesBy - NOW.wall
      : Math.min(viewDue, attemptsDue, sectionsDue, subscriptionDue) - NOW.monotonic;
    return {
      due: crashed ? Infinity : Math.max(0, due),
      lineIsDue: viewDue <= NOW.monotonic,
      attemptsAreDue: attemptsDue <= NOW.monotonic,
      sections: sections.map(({ sequence, token, until, lease }) => ({
        sequence,
        token,
        mustEnd: until <= NOW.monotonic,
        counts: lease.remaining() > 0,
      })),
      waiting: [...(view?.waiting.keys() ?? [])],
      made: client.sequence,
      asleep,
      mustWake: asleep !== undefined && client.wakesBy <= NOW.wall,
      crashed,
      up: upSince !== undefined,
      steady: upSince !== undefined && NOW.monotonic - upSince >= GRACE,
      mustResubscribe: down >= LONGEST_DOWN,
      downForLong: down >= GRACE,
      idle: !view && attempts.length + sections.length + releases.length === 0,
    };
  }
}
