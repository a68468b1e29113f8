import { type OnModuleDestroy } from '@nestjs/common';
import { type FairLockService } from '../core/engine/fair-lock-service.js';
import { detached } from '../core/runtime/async-context.js';
import { sentenceOf } from '../core/errors/errors.js';
import { type LockOverview } from '../core/query/lock-overview.js';
import { lineMessage } from './line-message.js';
import { overviewMessage } from './overview-message.js';

/** ms between the end of one look at the locks and the next. */
const PAUSE = 1_000;
/** ms after which an open page must reconnect, so that the guards decide again whether it is allowed. */
const LONGEST_STREAM = 5 * 60_000;
/** ms of history that a page gets when it opens. History exists only for times at which a page was open. */
const HISTORY = 5 * 60_000;

/** The part of the service that the board uses. */
export type LockSource = Pick<FairLockService, 'query' | 'inspect' | 'forceRelease'>;

/** What one look at the locks found. */
interface Look {
  readonly overview: LockOverview;
  readonly event: Uint8Array;
}

/** One open page. */
export interface BoardViewer {
  /** The lock whose queue the page shows. */
  readonly key: string | undefined;
  send(event: Uint8Array): void;
  end(): void;
}

/** Looks at the locks once a second for all open pages together, and not at all while none is open. */
export class BoardFeed implements OnModuleDestroy {
  private readonly viewers = new Set<BoardViewer>();
  private history: { at: number; waiting: number; longestWait: number }[] = [];
  /** What the last look found, for pages that are opened before the next one. */
  private last: Look | undefined;
  private looking = false;
  /** Runs between two looks. */
  private timer: NodeJS.Timeout | undefined;
  /** The application is closing: a new stream would keep it from that. */
  closed = false;

  constructor(readonly locks: LockSource) {}

  /** Keeps the viewer informed until the returned function is called. */
  watch(viewer: BoardViewer): () => void {
    this.viewers.add(viewer);
    const now = Date.now();
    const history = this.history.map(({ at, ...rest }) => ({ ago: now - at, ...rest }));
    viewer.send(eventOf('history', history));
    // Runs outside the context of the request that opened the page, which would otherwise stay in memory as long as the page is open.
    const renewal = detached(() => {
      // The result of the last look, so that many pages that open together, as after a restart, do not cause further queries.
      if (this.last) void this.show(this.last, [viewer]);
      if (!this.looking && !this.timer) void this.look();
      return setTimeout(() => this.renew(viewer), LONGEST_STREAM).unref();
    });
    return () => {
      clearTimeout(renewal);
      this.viewers.delete(viewer);
    };
  }

  /** An open stream would keep the HTTP server, and with it the application, from closing. */
  onModuleDestroy(): void {
    this.closed = true;
    clearTimeout(this.timer);
    for (const viewer of this.viewers) viewer.end();
    this.viewers.clear();
  }

  private renew(viewer: BoardViewer): void {
    this.viewers.delete(viewer);
    viewer.send(eventOf('again', {}));
    viewer.end();
  }

  private async look(): Promise<void> {
    this.looking = true;
    this.timer = undefined;
    try {
      const overview = await this.locks.query();
      const message = overviewMessage(overview);
      const event = eventOf('overview', message);
      this.remember(message.totals);
      this.last = { overview, event };
      await this.show(this.last, [...this.viewers]);
    } catch (error) {
      this.last = undefined;
      const event = troubleOf(error);
      for (const viewer of this.viewers) viewer.send(event);
    }
    this.looking = false;
    if (!this.closed) this.timer = setTimeout(() => this.lookAgain(), PAUSE);
  }

  private lookAgain(): void {
    if (this.viewers.size > 0) return void this.look();
    this.timer = this.last = undefined;
  }

  private remember({ waiting, longestWait }: { waiting: number; longestWait: number }): void {
    const at = Date.now();
    this.history = this.history.filter((sample) => sample.at > at - HISTORY);
    this.history.push({ at, waiting, longestWait });
  }

  /** Shows the result of a look, and to the pages of one lock its queue, which is read once for all of them. */
  private async show({ overview, event }: Look, viewers: readonly BoardViewer[]): Promise<void> {
    for (const viewer of viewers) viewer.send(event);
    const keys = new Set(viewers.flatMap(({ key }) => key ?? []));
    const showLine = async (key: string): Promise<void> => {
      const line = await this.lineOf(key, overview);
      for (const viewer of viewers) if (viewer.key === key) viewer.send(line);
    };
    await Promise.all([...keys].map(showLine));
  }

  /** The queue of one lock. If it cannot be read, only the pages that show it get an error. */
  private async lineOf(key: string, overview: LockOverview): Promise<Uint8Array> {
    try {
      return eventOf('line', lineMessage(await this.locks.inspect(key), overview));
    } catch (error) {
      return troubleOf(error);
    }
  }
}

/** A server-sent event, made once for all streams, so that streams of slow clients keep the same bytes in memory and not copies. */
function eventOf(name: string, data: object): Uint8Array {
  return Buffer.from(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}

function troubleOf(error: unknown): Uint8Array {
  return eventOf('trouble', { message: sentenceOf(error) });
}
