import type { Mutation } from '../simulation/world/load-client.js';
import { TIMES } from './attempts.js';
import { Violation } from './book.js';
import type { Client } from './client.js';
import { GraphCodec } from './graph.js';
import { loadCode } from './load-code.js';
import { GRACE, LockClient } from './lock-client.js';
import type { Outcome } from './outcome.js';
import { PairMemo } from './pairs.js';
import { Recent, remembered } from './remembered.js';
import { clockCode, later, NOW, renumbered, withoutFractions, type Passed } from './scales.js';
import type { Texts } from './texts.js';
import { tidy } from './tidy.js';

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
  /** Its subscription has been up for longer than the grace, or for all that it has told the server. */
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

interface Acted {
  readonly client: number;
  readonly outcome: Outcome;
}

/** The shipped code of a client as pure functions on texts. What each did is remembered. */
export class Clients {
  private readonly lockClient: LockClient;
  private readonly codec: GraphCodec;
  private readonly acted = new Recent<string, Acted>();
  private readonly moved = new PairMemo();
  readonly facts = remembered((id: number) => this.factsAnew(id));
  private readonly clocks;
  private readonly timing;

  constructor(
    private readonly texts: Texts,
    lib: string,
    mutations: readonly Mutation[] = [],
  ) {
    const code = loadCode(lib, mutations);
    this.clocks = code.clocks;
    const timing = (this.timing = code.timing(TIMES.lease, TIMES.window, TIMES.commandTimeout));
    const settings = { timing, replicated: false as const };
    const onStep = (): void => undefined;
    const noMoment = { monotonic: 0, wall: 0, order: 0 };
    this.codec = new GraphCodec([timing, settings, onStep, noMoment]);
    this.lockClient = new LockClient(code, { settings, onStep, noMoment });
  }

  /** The scripts that it sends. */
  get scripts() {
    return Object.values(this.lockClient.commands.calls.scripts);
  }

  fresh(): number {
    return this.texts.id(this.written(this.lockClient.newClient()));
  }

  /** A client that is gone, whatever it knew. */
  crashed(): number {
    return this.texts.id(this.written({ ...this.lockClient.newClient(), crashed: true, upSince: undefined }));
  }

  /** @param name names what happens, with all that it depends on */
  act(id: number, name: string, what: (client: LockClient, state: Client) => void): Acted {
    return this.acted.of(`${id} ${name}`, () => {
      const client = this.read(id);
      let outcome: Outcome;
      try {
        outcome = this.lockClient.happens(client, () => what(this.lockClient, client));
      } catch (error) {
        throw error instanceof Violation ? error : new Violation('threw', String((error as Error).message));
      }
      return { client: this.texts.id(this.written(client)), outcome };
    });
  }

  /** A client when time has passed. */
  later(id: number, passed: Passed): number {
    return this.moved.of(id, clockCode(passed), () =>
      this.texts.id(this.written(this.codec.read(later(this.texts.text(id), passed)) as Client)),
    );
  }

  private read(id: number): Client {
    return this.codec.read(this.texts.text(id)) as Client;
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
      steady: upSince !== undefined && (NOW.monotonic - upSince >= GRACE || viewDue <= NOW.monotonic),
      mustResubscribe: down >= LONGEST_DOWN,
      downForLong: down >= GRACE,
      idle: !view && attempts.length + sections.length + releases.length === 0,
    };
  }
}
