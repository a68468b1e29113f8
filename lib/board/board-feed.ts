import { type OnModuleDestroy } from '@nestjs/common';
import { detached } from '../core/detached.js';
import { FairLockError } from '../core/errors.js';
import { type LockOverview } from '../core/lock-overview.js';
import { type LockSource } from './lock-source.js';
import { lineMessage } from './line-message.js';
import { overviewMessage } from './overview-message.js';

/** ms between the end of one look at the locks and the next. */
const PAUSE = 1_000;
/** ms of history that a page is given when it opens, as far as a page was open meanwhile. */
const HISTORY = 5 * 60_000;

/** One open page. */
export interface BoardViewer {
  /** The lock whose line the page shows. */
  readonly key: string | undefined;
  send(event: string, json: string): void;
  end(): void;
}

/** Looks at the locks once a second for all open pages together, and not at all while none is open. */
export class BoardFeed implements OnModuleDestroy {
  private readonly viewers = new Set<BoardViewer>();
  private history: { at: number; waiting: number; longestWait: number }[] = [];
  private looking = false;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(readonly locks: LockSource) {}

  /** False once the application is closing: a new stream would keep it from that. */
  get open(): boolean {
    return !this.closed;
  }

  /** Keeps the viewer informed until the returned function is called. */
  watch(viewer: BoardViewer): () => void {
    this.viewers.add(viewer);
    const now = Date.now();
    viewer.send(
      'history',
      JSON.stringify(this.history.map(({ at, ...rest }) => ({ ago: now - at, ...rest }))),
    );
    this.lookNow();
    return () => this.viewers.delete(viewer);
  }

  /** An open stream would keep the HTTP server, and with it the application, from closing. */
  onModuleDestroy(): void {
    this.closed = true;
    clearTimeout(this.timer);
    for (const viewer of this.viewers) viewer.end();
    this.viewers.clear();
  }

  private lookNow(): void {
    if (this.looking) return;
    clearTimeout(this.timer);
    this.looking = true;
    // Outside the context of the request that opened the page: it would live as long as the page.
    void detached(() => this.look());
  }

  private async look(): Promise<void> {
    try {
      const overview = await this.locks.query();
      const message = overviewMessage(overview);
      this.remember(message.totals);
      this.sendAll('overview', message);
      await this.sendLines(overview);
    } catch (error) {
      this.sendAll('trouble', { message: textOf(error) });
    }
    this.looking = false;
    if (this.viewers.size > 0) this.timer = setTimeout(() => this.lookNow(), PAUSE);
  }

  private remember({ waiting, longestWait }: { waiting: number; longestWait: number }): void {
    const at = Date.now();
    this.history = this.history.filter((sample) => sample.at > at - HISTORY);
    this.history.push({ at, waiting, longestWait });
  }

  private async sendLines(overview: LockOverview): Promise<void> {
    const keys = new Set([...this.viewers].flatMap(({ key }) => key ?? []));
    await Promise.all([...keys].map((key) => this.sendLine(key, overview)));
  }

  /** A lock that cannot be read is the trouble of those alone who look at it. */
  private async sendLine(key: string, overview: LockOverview): Promise<void> {
    const to = (viewer: BoardViewer): boolean => viewer.key === key;
    try {
      this.sendAll('line', lineMessage(await this.locks.inspect(key), overview), to);
    } catch (error) {
      this.sendAll('trouble', { message: textOf(error) }, to);
    }
  }

  private sendAll(event: string, message: object, to?: (viewer: BoardViewer) => boolean): void {
    const json = JSON.stringify(message);
    for (const viewer of this.viewers) if (!to || to(viewer)) viewer.send(event, json);
  }
}

function textOf(error: unknown): string {
  // What a store says of a failed command; here no lock was to be taken.
  if (error instanceof FairLockError) return error.details.replace(' The lock was not taken.', '');
  return error instanceof Error ? error.message : String(error);
}
