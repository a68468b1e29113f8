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
  passes,
  readBook,
  usedBy,
  uses,
  Violation,
  writeBook,
  type Book,
} from './book.js';
import { faultsAfter } from './faults.js';
import { isOfUse, judge } from './judge.js';
import { keepOf, type Kind } from './kinds.js';
import { kindsAsked, timeToPass } from './moves.js';
import { answerOf, applyCrash, applyOutcome, readNetwork, writeNetwork, type Network } from './network.js';
import type { Note } from './outcome.js';
import { PairMemo, Pairs } from './pairs.js';
import { remembered } from './remembered.js';
import { NOW, type Passed } from './scales.js';
import { moveAs, type FaultKind, type Move, type Scope } from './scope.js';
import { NAMES } from './server.js';
import { Texts } from './texts.js';
import { LONGEST_SLEEP } from './clients.js';
import { BOOK, clientAt, networkAt, SERVER, type State, type World } from './world.js';
import type { Client } from './client.js';
import type { LockClient } from './lock-client.js';

/** The second key is the line, the third has the deadlines of those that wait. */
const LINE = 1;
const DEADLINES = 2;

/** What is done to a client, and a name for it with all that it depends on. */
interface Action {
  readonly name: string;
  readonly what: (one: LockClient, state: Client) => void;
}

/** The command that is carried out next, and what is on its way without it. */
interface FirstCommand {
  readonly slot: number;
  readonly command: number;
  readonly rest: number;
}

/** Plays moves. What each does to a part of the state is remembered, so most moves are look-ups. */
export class Play {
  private ids: number[] = [];
  private readonly pairs = new Pairs();
  private readonly names = new Texts();
  private readonly commands = new Texts();
  private readonly happened = new PairMemo();
  /** By the numbers of their names. */
  private readonly notes = new Map<number, readonly Note[]>();
  private readonly notedBooks = new PairMemo();
  private readonly letInBooks = new PairMemo();
  private readonly laterBooks = new PairMemo();
  private readonly ran = new PairMemo();
  private readonly answers = new PairMemo();
  private readonly messages = new PairMemo();
  private readonly firstCommand = remembered((id: number) => this.firstCommandOf(id));
  private readonly holdsName = remembered((id: number) => this.holdsNameOf(id));

  constructor(
    private readonly world: World,
    private readonly scope: Scope,
  ) {}

  /** @throws Violation */
  after(state: State, move: Move): State {
    const { world } = this;
    this.ids = [...state];
    if (move.isFault) this.countFault(move.kind as FaultKind);
    this.apply(move);
    judge(world, this.ids, this.book);
    return world.told(this.ids);
  }

  private apply(move: Move): void {
    const { kind, client, which } = move;
    switch (kind) {
      case 'deliver': {
        const { command, slot, rest } = this.firstCommand(this.ids[networkAt(client)]!);
        this.ids[networkAt(client)] = rest;
        return this.run(client, command, slot);
      }
      case 'duplicate-command':
        // As after a connection that broke before the reply came: an earlier copy has run.
        return this.run(client, this.firstCommand(this.ids[networkAt(client)]!).command, 0);
      case 'late':
        return this.late(move);
      case 'request':
      case 'batch':
        this.use(client, kindsAsked(move, this.scope));
        return this.happens(move);
      case 'end':
        return this.happens(move, keepOf(kindOf(this.book, client, which)));
      case 'cancel':
        this.write((book) => void (book.cancels += 1));
        return this.happens(move);
      case 'unsubscribe':
        this.write((book) => excuse(book, client, 'briefly'));
        return this.happens(move);
      case 'pass':
        return this.pass(timeToPass(this.world, this.ids, this.scope, this.book));
      case 'crash':
        return this.crash(client);
      case 'evict':
      case 'flush':
        return this.lose(kind === 'flush' ? [0, 1, 2] : [which]);
      case 'step-forward':
      case 'step-back':
        return this.step(kind === 'step-forward' ? this.scope.step : -this.scope.step);
      case 'lose-command':
      case 'lose-reply':
      case 'lose-message':
      case 'delay-command':
      case 'delay-reply':
      case 'delay-message':
      case 'duplicate-message':
        return this.disturb(client, kind);
      default:
        return this.happens(move);
    }
  }

  private countFault(kind: FaultKind): void {
    const faults = faultsAfter(this.scope, this.book.faults, kind);
    if (faults === undefined)
      throw new Error(`${kind} is a fault that this scope does not have, or has no more`);
    this.write((book) => void (book.faults = faults));
  }

  private get book(): Readonly<Book> {
    return this.world.book(this.ids[BOOK]!);
  }

  private write(change: (book: Book) => void): void {
    this.ids[BOOK] = this.written(this.ids[BOOK]!, change);
  }

  /** @param code names all that the change depends on */
  private writeOnce(memo: PairMemo, code: number, change: (book: Book) => void): void {
    const id = this.ids[BOOK]!;
    this.ids[BOOK] = memo.of(id, code, () => this.written(id, change));
  }

  private written(id: number, change: (book: Book) => void): number {
    const book = readBook(this.world.texts.text(id));
    change(book);
    return this.world.texts.id(writeBook(book));
  }

  private writeNetwork(client: number, change: (network: Network) => void): void {
    this.ids[networkAt(client)] = this.networkWith(this.ids[networkAt(client)]!, change);
  }

  private networkWith(id: number, change: (network: Network) => void): number {
    const network = readNetwork(this.world.texts.text(id));
    change(network);
    return this.world.texts.id(writeNetwork(network));
  }

  /** A move that concerns a client and its own connection only. */
  private happens(move: Move, keep?: number): void {
    const { ids } = this;
    const { client } = move;
    const pair = this.pairs.id(ids[clientAt(client)]!, ids[networkAt(client)]!);
    const code = moveAs(move.kind, 0, move.which).code * 2 + (keep === undefined ? 0 : 1);
    const happened = this.happened.of(pair, code, () => this.happensTo(pair, move, keep));
    const after = this.pairs.first(happened);
    ids[clientAt(client)] = this.pairs.first(after);
    ids[networkAt(client)] = this.pairs.second(after);
    const notesId = this.pairs.second(happened);
    const notes = this.notes.get(notesId)!;
    if (notes.length > 0) this.note(client, notes, notesId);
  }

  /** The pair of the client and what is on its way, after the move, and with it the number of the notes: a pair of both. */
  private happensTo(pair: number, move: Move, keep: number | undefined): number {
    const { world, pairs } = this;
    const client = pairs.first(pair);
    const network = readNetwork(world.texts.text(pairs.second(pair)));
    const { name, what } = this.actionOf(client, network, move, keep);
    const { client: after, outcome } = world.clients.act(client, name, what);
    applyOutcome(network, outcome);
    const notesId = this.names.id(JSON.stringify(outcome.notes));
    this.notes.set(notesId, outcome.notes);
    return pairs.id(pairs.id(after, world.texts.id(writeNetwork(network))), notesId);
  }

  /** What a move does to a client, and takes from what is on its way. */
  private actionOf(id: number, network: Network, move: Move, keep: number | undefined): Action {
    const { kind, which } = move;
    switch (kind) {
      case 'request':
      case 'batch':
        return this.request(id, kindsAsked(move, this.scope));
      case 'reply':
        return reply(network.replies.shift()!);
      case 'message':
        return message(network.messages.shift()!);
      case 'late': {
        const [late] = network.late.splice(which, 1);
        return late![0] === 'reply' ? reply(late![1]) : message(late![1] as string);
      }
      case 'due':
        return { name: kind, what: (one) => one.wakeUp() };
      case 'timeout':
        return { name: kind, what: (one) => one.attempts.timeOut() };
      case 'end':
        return { name: `end ${which} ${keep}`, what: (one) => one.endSection(which, keep) };
      case 'cancel':
        return { name: `cancel ${which}`, what: (one) => one.cancel(which) };
      case 'wake':
        return {
          name: kind,
          // When it would have woken at the latest is of no interest any more.
          what: (_, state) => void Object.assign(state, { asleep: undefined, wakesBy: 0 }),
        };
      case 'resubscribe':
        return { name: kind, what: (one) => one.subscription(true) };
      case 'unsubscribe':
        network.messages.length = 0;
        return { name: kind, what: (one) => one.subscription(false) };
      case 'cut':
        network.commands.length = 0;
        network.replies.length = 0;
        return { name: kind, what: (one) => one.reconnect() };
      case 'suspend':
      case 'freeze':
        return {
          name: kind,
          what: (_, state) => {
            state.asleep = kind === 'freeze' ? 'frozen' : 'suspended';
            state.wakesBy = NOW.wall + LONGEST_SLEEP;
          },
        };
      default:
        throw new Error(`no such move of a client: ${kind}`);
    }
  }

  /** If the requests of a client are to differ, those that are left must know of these. */
  private use(client: number, kinds: readonly Kind[]): void {
    const { distinct, requests } = this.scope;
    if (!distinct) return;
    const { made } = this.world.facts(this.ids[clientAt(client)]!);
    const isLast = made + kinds.length === requests;
    this.write((book) => uses(book, client, isLast ? [] : [...usedBy(book, client), ...kinds]));
  }

  private note(client: number, notes: readonly Note[], notesId: number): void {
    const { ids, world } = this;
    const server = ids[SERVER]!;
    const code = this.pairs.id(notesId * 4 + client, this.holdsName(server));
    this.writeOnce(this.notedBooks, code, (book) => {
      for (const note of notes) noted(book, client, world.held(server).holds, note);
    });
  }

  /** Names the requests that hold the lock by the data of the server. */
  private holdsNameOf(server: number): number {
    return this.names.id(
      JSON.stringify(this.world.held(server).holds.map((hold) => [hold.client, hold.sequence])),
    );
  }

  private disturb(client: number, kind: Move['kind']): void {
    this.writeNetwork(client, ({ commands, replies, messages, late }) => {
      if (kind === 'lose-command') commands.shift();
      else if (kind === 'lose-reply') replies.shift();
      else if (kind === 'lose-message') messages.shift();
      else if (kind === 'delay-command') late.push(['command', commands.shift()!]);
      else if (kind === 'delay-reply') late.push(['reply', replies.shift()!]);
      else if (kind === 'delay-message') late.push(['message', messages.shift()!]);
      else late.push(['message', messages[0]!]);
    });
  }

  private request(id: number, kinds: readonly Kind[]): Action {
    const { made } = this.world.facts(id);
    const { requests, fixedLease } = this.scope;
    const asked = kinds.map((kind, i) => ({
      kind,
      leaseTime: made + i + 1 === requests ? fixedLease : undefined,
    }));
    return { name: `request ${JSON.stringify(asked)}`, what: (one) => one.request(asked) };
  }

  private firstCommandOf(id: number): FirstCommand {
    const { commands, ...others } = this.world.network(id);
    const [first, ...left] = commands;
    const [slot, ...command] = first!;
    const rest = this.world.texts.id(writeNetwork({ ...others, late: [...others.late], commands: left }));
    return { slot, command: this.commands.id(JSON.stringify(command)), rest };
  }

  /** @param slot to which it replies; 0: to none */
  private run(client: number, command: number, slot: number): void {
    const { world, scope, ids } = this;
    let subscribed = 0;
    for (let i = 0; i < scope.clients; i++)
      subscribed = subscribed * 2 + (world.facts(ids[clientAt(i)]!).up ? 1 : 0);
    const before = ids[SERVER]!;
    const code = (command * 4 + client) * 16 + subscribed;
    const run = this.ran.of(before, code, () => this.runAnew(client, command, subscribed));
    const after = (ids[SERVER] = world.runs.serverAfter(run));
    const { wrong } = world.held(after);
    if (wrong) throw new Violation('rule', wrong);
    if (after !== before) this.letIn(before, run);
    const { answer, messages: published } = world.runs.said(run);
    if (slot > 0)
      this.onItsWay(client, this.answers, slot, run, ({ replies }) => replies.push([slot, answer]));
    for (const [i, [to, text]] of published.entries())
      this.onItsWay(to, this.messages, i, run, ({ messages }) => messages.push(text));
  }

  private runAnew(client: number, command: number, subscribed: number): number {
    const [script, ...args] = JSON.parse(this.commands.text(command)) as string[];
    const listening = subscribed.toString(2).padStart(this.scope.clients, '0');
    return this.world.runs.run(this.ids[SERVER]!, script!, [NAMES[client]!, ...args], listening);
  }

  /** Notes past whom the server lets requests in, and for how long it keeps the lock for them. */
  private letIn(before: number, run: number): void {
    const { world, scope, ids } = this;
    let steady = 0;
    for (let client = 0; client < scope.clients; client++)
      if (world.facts(ids[clientAt(client)]!).steady) steady += 1 << client;
    this.writeOnce(this.letInBooks, run * 16 + steady, (book) => {
      const earlier = world.held(before).holds.map(({ token }) => token);
      for (const hold of world.held(world.runs.serverAfter(run)).holds) {
        if (earlier.includes(hold.token)) continue;
        if (steady & (1 << hold.client)) passes(book, hold);
        keeps(book, hold, scope.fixedLease);
      }
    });
  }

  /** Puts part `i` of what a script sent on its way to a client. */
  private onItsWay(
    client: number,
    memo: PairMemo,
    i: number,
    run: number,
    change: (network: Network) => void,
  ): void {
    const network = this.ids[networkAt(client)]!;
    const code = this.pairs.id(run, i);
    this.ids[networkAt(client)] = memo.of(network, code, () => this.networkWith(network, change));
  }

  private late(move: Move): void {
    const { client, which } = move;
    const [kind, what] = this.world.network(this.ids[networkAt(client)]!).late[which]!;
    if (kind !== 'command') return this.happens(move);
    this.writeNetwork(client, ({ late }) => void late.splice(which, 1));
    const [slot, ...command] = what;
    this.run(client, this.commands.id(JSON.stringify(command)), slot);
  }

  private pass(time: number): void {
    const { world, ids, scope } = this;
    const wasOfUse = isOfUse(world, ids, this.book);
    let excused = 0;
    ids[SERVER] = world.serverLater(ids[SERVER]!, onServer(time));
    for (let client = 0; client < scope.clients; client++) {
      const { asleep, crashed: dead } = world.facts(ids[clientAt(client)]!);
      const monotonic = asleep === 'suspended' ? 0 : time;
      const passed = { server: time, monotonic, wall: time };
      if (!dead) ids[clientAt(client)] = world.clients.later(ids[clientAt(client)]!, passed);
      ids[networkAt(client)] = world.networkLater(ids[networkAt(client)]!, onServer(time));
      if (asleep || world.facts(ids[clientAt(client)]!).downForLong) excused += 1 << client;
    }
    const code = (time * 2 + (wasOfUse ? 1 : 0)) * 16 + excused;
    this.writeOnce(this.laterBooks, code, (book) => {
      for (let client = 0; client < scope.clients; client++)
        if (excused & (1 << client)) excuse(book, client, 'always');
      book.phase = (book.phase + time) % scope.tick;
      counted(book, !wasOfUse, time);
      bookLater(book, time);
    });
  }

  private crash(client: number): void {
    this.write((book) => crashed(book, client));
    this.writeNetwork(client, applyCrash);
    this.ids[clientAt(client)] = this.world.clients.crashed();
  }

  private lose(keys: readonly number[]): void {
    const { world, ids } = this;
    const { holds } = world.held(ids[SERVER]!);
    for (const key of keys) ids[SERVER] = world.serverWithout(ids[SERVER]!, key);
    this.write((book) => {
      if (keys.includes(0)) {
        loosen(book, holds);
        book.lost = true;
      }
      if (keys.includes(DEADLINES)) book.lostDeadlines = true;
      excuse(book, undefined, 'always');
    });
  }

  private step(by: number): void {
    const { world, ids, scope } = this;
    const { holds } = world.held(ids[SERVER]!);
    const hadLine = world.keys(ids[SERVER]!).includes(LINE);
    ids[SERVER] = world.serverLater(ids[SERVER]!, onServer(by));
    const left = world.keys(ids[SERVER]);
    // Steps by more than a minute in all expire all keys, which counts as a loss of data.
    const hasLostAll = left.length === 0;
    // A lock at rest forgets its last token.
    const isForgotten = by < 0 && !left.includes(0);
    // A held lock, for which all that wait are overdue at once: who joins them now may be served first (R7).
    const isHeld = world.held(ids[SERVER]).holds.length > 0;
    // Not all are overdue if the server lost deadlines before, or if some lie far ahead since its clock was set back.
    const { setBack, lostDeadlines } = this.book;
    const mayPass = by > 0 && (isHeld || setBack || lostDeadlines || (hadLine && !left.includes(LINE)));
    this.write((book) => {
      if (by > 0) {
        loosen(book, holds);
        // Who does not know of its grant yet may learn of it when it is over.
        for (const { client, sequence } of holds) {
          const entry = book.requests[nameOf(client, sequence)];
          if (entry) entry.excused = 'always';
        }
      } else book.setBack = true;
      if (hasLostAll || isForgotten) book.lost = true;
      if (hasLostAll || mayPass) excuse(book, undefined, 'always');
      bookLater(book, by);
    });
    for (let client = 0; client < scope.clients; client++) {
      ids[clientAt(client)] = world.clients.later(ids[clientAt(client)]!, onServer(by));
      ids[networkAt(client)] = world.networkLater(ids[networkAt(client)]!, onServer(by));
    }
  }
}

/** Only the clock of the server goes on. */
const onServer = (time: number): Passed => ({ server: time, monotonic: 0, wall: 0 });

const reply = ([slot, answer]: Network['replies'][number]): Action => ({
  name: `reply ${slot} ${JSON.stringify(answer)}`,
  what: (one) => one.attempts.answered(slot, answerOf(answer)),
});

const message = (text: string): Action => ({ name: `message ${text}`, what: (one) => one.message(text) });
