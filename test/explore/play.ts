import {
  bookLater,
  counted,
  crashed,
  excuse,
  keeps,
  kindOf,
  loosen,
  nameOf,
  noted,
  Violation,
  writeBook,
  type Book,
} from './book.js';
import { isOfUse, judge } from './judge.js';
import { keepOf, type Kind } from './kinds.js';
import { TICK, timeToPass } from './moves.js';
import {
  answerOf,
  answerText,
  applyOutcome,
  readNetwork,
  withoutSlot,
  writeNetwork,
  type Network,
} from './network.js';
import { NOW } from './scales.js';
import { isFault, type Move, type Scope } from './scope.js';
import { NAMES, without } from './server.js';
import { BOOK, clientAt, LONGEST_SLEEP, networkAt, SERVER, type State, type World } from './world.js';
import type { Client } from './client.js';
import type { LockClient } from './lock-client.js';
import type { Sent } from './outcome.js';

/** By how much the server's clock is set, ms: more than a lease. */
const CLOCK_STEP = 40_000;

/** One move, applied to a state. */
export class Play {
  private readonly ids: number[];
  private readonly networks = new Map<number, Network>();
  private readonly book: Book;

  constructor(
    private readonly world: World,
    state: State,
    private readonly scope: Scope,
  ) {
    this.ids = [...state];
    this.book = world.bookOf(state);
  }

  /** @throws Violation */
  after(move: Move): State {
    if (isFault(move)) this.book.faults += 1;
    this.apply(move);
    for (const [client, network] of this.networks) {
      this.ids[networkAt(client)] = this.world.texts.id(writeNetwork(network));
    }
    this.ids[BOOK] = this.world.texts.id(writeBook(this.book));
    judge(this.world, this.ids, this.book);
    return this.world.told(this.ids);
  }

  private apply({ kind, client, which }: Move): void {
    const { book } = this;
    switch (kind) {
      case 'request':
      case 'batch':
        return this.request(client, this.kindsOf(kind, which));
      case 'deliver':
        return this.run(client, this.network(client).commands.shift()!);
      case 'reply':
        return this.reply(client, this.network(client).replies.shift()!);
      case 'message':
        return this.message(client, this.network(client).messages.shift()!);
      case 'late':
        return this.late(client, which);
      case 'due':
        return this.act(client, kind, (one) => one.wakeUp());
      case 'timeout':
        return this.act(client, kind, (one) => one.attempts.timeOut());
      case 'end':
        return this.end(client, which);
      case 'cancel':
        book.cancels += 1;
        return this.act(client, `cancel ${which}`, (one) => one.cancel(which));
      case 'wake':
        return this.act(client, kind, (_, state) => void (state.asleep = undefined));
      case 'resubscribe':
        return this.act(client, kind, (one) => one.subscription(true));
      case 'pass':
        return this.pass(timeToPass(this.world, this.ids, this.scope, book));
      case 'crash':
        return this.crash(client);
      case 'duplicate-command':
        // As after a connection that broke before the reply came: an earlier copy has run.
        return this.run(client, withoutSlot(this.network(client).commands[0]!));
      case 'unsubscribe':
        this.network(client).messages.length = 0;
        excuse(book, client, 'briefly');
        return this.act(client, kind, (one) => one.subscription(false));
      case 'cut':
        this.network(client).commands.length = 0;
        this.network(client).replies.length = 0;
        return this.act(client, kind, (one) => one.reconnect());
      case 'suspend':
      case 'freeze':
        return this.act(client, kind, (_, state) => {
          state.asleep = kind === 'freeze' ? 'frozen' : 'suspended';
          state.wakesBy = NOW.wall + LONGEST_SLEEP;
        });
      case 'evict':
      case 'flush':
        return this.lose(kind === 'flush' ? [0, 1, 2] : [which]);
      case 'step-forward':
      case 'step-back':
        return this.step(kind === 'step-forward' ? CLOCK_STEP : -CLOCK_STEP);
      default:
        return this.disturb(kind, this.network(client));
    }
  }

  private disturb(kind: Move['kind'], { commands, replies, messages, late }: Network): void {
    switch (kind) {
      case 'lose-command':
        commands.shift();
        return;
      case 'lose-reply':
        replies.shift();
        return;
      case 'lose-message':
        messages.shift();
        return;
      case 'delay-command':
        late.push(['command', commands.shift()!]);
        return;
      case 'delay-reply':
        late.push(['reply', replies.shift()!]);
        return;
      case 'delay-message':
        late.push(['message', messages.shift()!]);
        return;
      case 'duplicate-message':
        late.push(['message', messages[0]!]);
        return;
      default:
        throw new Error(`no such fault: ${kind}`);
    }
  }

  private network(client: number): Network {
    let network = this.networks.get(client);
    if (!network) {
      network = readNetwork(this.world.texts.text(this.ids[networkAt(client)]!));
      this.networks.set(client, network);
    }
    return network;
  }

  private act(client: number, name: string, what: (one: LockClient, state: Client) => void): void {
    const acted = this.world.act(this.ids[clientAt(client)]!, name, what);
    this.ids[clientAt(client)] = acted.client;
    applyOutcome(this.network(client), acted.outcome);
    if (acted.outcome.notes.length === 0) return;
    const { steady } = this.world.facts(acted.client);
    const { holds } = this.world.held(this.ids[SERVER]!);
    for (const note of acted.outcome.notes) noted(this.book, client, steady, holds, note);
  }

  /** Of a request, or of the two of a batch. */
  private kindsOf(move: Move['kind'], which: number): Kind[] {
    const { kinds } = this.scope;
    const [first, second] = [Math.floor(which / kinds.length), which % kinds.length];
    return move === 'batch' ? [kinds[first]!, kinds[second]!] : [kinds[which]!];
  }

  private request(client: number, kinds: readonly Kind[]): void {
    const { made } = this.world.facts(this.ids[clientAt(client)]!);
    const { requests, fixedLease } = this.scope;
    const asked = kinds.map((kind, i) => ({
      kind,
      leaseTime: made + i + 1 === requests ? fixedLease : undefined,
    }));
    this.act(client, `request ${JSON.stringify(asked)}`, (one) => one.request(asked));
  }

  private end(client: number, sequence: number): void {
    const keep = keepOf(kindOf(this.book, client, sequence));
    this.act(client, `end ${sequence} ${keep}`, (one) => one.endSection(sequence, keep));
  }

  private run(client: number, [slot, script, ...args]: Sent): void {
    const { world, scope } = this;
    let subscribed = '';
    for (let i = 0; i < scope.clients; i++) subscribed += world.facts(this.ids[clientAt(i)]!).up ? '1' : '0';
    const before = this.ids[SERVER]!;
    const ran = world.run(before, script, [NAMES[client]!, ...args], subscribed);
    this.ids[SERVER] = ran.id;
    const { holds, wrong } = world.held(ran.id);
    if (wrong) throw new Violation('rule', wrong);
    const earlier = world.held(before).holds.map(({ token }) => token);
    for (const hold of holds) if (!earlier.includes(hold.token)) keeps(this.book, hold, scope.fixedLease);
    if (slot > 0) this.network(client).replies.push([slot, answerText(ran.answer)]);
    for (const [to, text] of ran.messages) this.network(to).messages.push(text);
  }

  private reply(client: number, [slot, answer]: Network['replies'][number]): void {
    this.act(client, `reply ${slot} ${JSON.stringify(answer)}`, (one) =>
      one.attempts.answered(slot, answerOf(answer)),
    );
  }

  private message(client: number, text: string): void {
    this.act(client, `message ${text}`, (one) => one.message(text));
  }

  private late(client: number, which: number): void {
    const [late] = this.network(client).late.splice(which, 1);
    if (late![0] === 'command') this.run(client, late![1]);
    else if (late![0] === 'reply') this.reply(client, late![1]);
    else this.message(client, late![1]);
  }

  private pass(time: number): void {
    const { world, ids, scope, book } = this;
    const wasOfUse = isOfUse(world, ids, book);
    const onServer = { server: time, monotonic: 0, wall: 0 };
    ids[SERVER] = world.later(ids[SERVER]!, onServer, true);
    for (let client = 0; client < scope.clients; client++) {
      const { asleep, crashed: dead } = world.facts(ids[clientAt(client)]!);
      const monotonic = asleep === 'suspended' ? 0 : time;
      if (!dead)
        ids[clientAt(client)] = world.clientLater(ids[clientAt(client)]!, {
          server: time,
          monotonic,
          wall: time,
        });
      ids[networkAt(client)] = world.later(ids[networkAt(client)]!, onServer);
      if (asleep || world.facts(ids[clientAt(client)]!).downForLong) excuse(book, client, 'always');
    }
    book.phase = (book.phase + time) % TICK;
    counted(book, !wasOfUse, time);
    bookLater(book, time);
  }

  private crash(client: number): void {
    const { book, world } = this;
    crashed(book, client);
    const network = this.network(client);
    network.replies.length = 0;
    network.messages.length = 0;
    for (const [i, command] of network.commands.entries()) network.commands[i] = withoutSlot(command);
    const late = network.late.filter(([kind]) => kind === 'command');
    network.late.splice(0, network.late.length, ...late);
    this.ids[clientAt(client)] = world.crashedClient();
  }

  private lose(keys: readonly number[]): void {
    const { world, ids, book } = this;
    const { holds } = world.held(ids[SERVER]!);
    for (const key of keys) {
      ids[SERVER] = world.changed(ids[SERVER]!, `without ${key}`, (text) => without(text, key));
    }
    if (keys.includes(0)) {
      loosen(book, holds);
      book.lost = true;
    }
    excuse(book, undefined, 'always');
  }

  private step(by: number): void {
    const { world, ids, book, scope } = this;
    const passed = { server: by, monotonic: 0, wall: 0 };
    if (by > 0) {
      const { holds } = world.held(ids[SERVER]!);
      loosen(book, holds);
      // Who does not know of its grant yet may learn of it when it is over.
      for (const { client, sequence } of holds) {
        const entry = book.requests[nameOf(client, sequence)];
        if (entry) entry.excused = 'always';
      }
    } else book.setBack = true;
    ids[SERVER] = world.later(ids[SERVER]!, passed, true);
    for (let client = 0; client < scope.clients; client++) {
      ids[clientAt(client)] = world.clientLater(ids[clientAt(client)]!, passed);
      this.networks.delete(client);
      ids[networkAt(client)] = world.later(ids[networkAt(client)]!, passed);
    }
    bookLater(book, by);
  }
}
