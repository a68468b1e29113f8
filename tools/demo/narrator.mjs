/** Prints the orders of the event log while they happen. */
import { setTimeout as sleep } from 'node:timers/promises';
import { hostTime } from './event-log.mjs';
import { seconds } from './screen.mjs';

/** Places in line are told in groups. */
const GROUP = 10;
/** How many of those next in line are named. */
const NEXT = 3;
/** Milliseconds for which a line is kept back: what two processes send within a moment may arrive the wrong way round. */
const MOMENT = 30;

export class Narrator {
  #start = hostTime();
  /** Living orders only. */
  #line = [];
  #sentAt = new Map();
  #begunAt = new Map();
  #sold = 0;
  #pending = [];
  #printed = Promise.resolve();

  constructor(log, screen) {
    this.screen = screen;
    log.on('order sent', ({ customer, at }) => this.#sentAt.set(customer, at));
    log.on('order in line', (order) => this.#inLine(order));
    log.on('order begun', (order) => {
      this.#begunAt.set(order.customer, order.at);
      if (order.quantity > 1) this.#row(order, `packing ${order.quantity}`);
    });
    log.on('order ended', (order) => this.#row(order, order.sold > 0 ? 'sold' : 'sold out'));
    log.on('killed', ({ instance }) => {
      this.#line = this.#line.filter((order) => order.instance !== instance);
    });
  }

  heading() {
    this.screen.print('        time  order    waited  fencing token     outcome     still in line');
  }

  /** A line with the time in front, now or at `at`. */
  print(text, at = hostTime()) {
    this.screen.print(`  ${this.#time(at)}  ${text}`);
  }

  #inLine(order) {
    this.#line.push(order);
    if (this.#line.length % GROUP > 0) return;
    const group = this.#line.slice(-GROUP).map((each) => this.#name(each));
    this.print(group.join(' '), order.at);
  }

  /** `order` is an entry of the journal at the end of its section, or at the beginning of a long one. */
  #row(order, what) {
    this.#pending.push({ order, what });
    if (this.#pending.length === 1) this.#printed = sleep(MOMENT).then(() => this.#tell());
  }

  /** Resolves when everything that was heard so far is told. */
  get printed() {
    return this.#printed;
  }

  #tell() {
    const rows = this.#pending.splice(0).sort((a, b) => a.order.at - b.order.at);
    for (const { order, what } of rows) {
      const { customer, token, sold = 0 } = order;
      this.#line = this.#line.filter((each) => each.customer !== customer);
      this.#sold += sold;
      const begunAt = this.#begunAt.get(customer);
      const waited = seconds(begunAt - this.#sentAt.get(customer)).padStart(7);
      const outcome = (sold > 0 ? `${what} (${this.#sold})` : what).padEnd(10);
      this.print(`${this.#name(order)}  ${waited}  ${token}  ${outcome}  ${this.#rest()}`, begunAt);
    }
  }

  #rest() {
    const next = this.#line.slice(0, NEXT).map((each) => this.#name(each).trim());
    if (this.#line.length > NEXT) next.push('…');
    const length = String(this.#line.length).padStart(2);
    return next.length > 0 ? `${length}: ${next.join(' ')}` : length;
  }

  #time(at) {
    return seconds(at - this.#start).padStart(10);
  }

  #name({ customer, instance }) {
    return `${customer.padStart(3)} ${this.screen.name(instance)}`;
  }
}
