/** A request that leaves, and the wait time from which its deadline was computed. */
export interface Leaver {
  readonly id: string;
  readonly wait: number;
}

/** What Redis says to one that left. */
export interface LeaveReply {
  /** The head of the queue, which was told that it may ask. */
  readonly woken: string | undefined;
  readonly holder: string | undefined;
  /** Milliseconds left of the holder's lease. */
  readonly left: number;
  /** How many requests were ahead of it; undefined: it was not in the queue. */
  readonly ahead: number | undefined;
}

interface Waiting extends Leaver {
  resolve(reply: LeaveReply): void;
  reject(error: unknown): void;
}

/** The most that leave by one command: Redis serves nothing else meanwhile. */
const MOST = 1_000;

/**
 * The requests of one client that leave the queue of one lock. Each command reads the whole queue, and so there is one at a time: those that
 * leave meanwhile leave together by the next one, as in an outage, or when many time out.
 */
export class Leavers {
  private waiting: Waiting[] = [];
  private sending = false;

  constructor(
    /** Sends the command for several, and resolves with a reply for each. */
    private readonly send: (leavers: readonly Leaver[]) => Promise<readonly LeaveReply[]>,
    /** Called when none is left. */
    private readonly forget: () => void,
  ) {}

  add(leaver: Leaver): Promise<LeaveReply> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ ...leaver, resolve, reject });
      if (!this.sending) void this.sendAll();
    });
  }

  private async sendAll(): Promise<void> {
    this.sending = true;
    while (this.waiting.length > 0) {
      const leaving = this.waiting.splice(0, MOST);
      try {
        const replies = await this.send(leaving);
        leaving.forEach((leaver, i) => leaver.resolve(replies[i]!));
      } catch (error) {
        for (const leaver of leaving) leaver.reject(error);
      }
    }
    this.forget();
  }
}
