/** One entry of the event log; `at` is the host's monotonic clock in ms. */
export interface DemoEvent {
  event: string;
  at: number;
  instance?: string;
  customer?: string;
  token?: number;
  sold?: number;
}

export interface Figures {
  requests: number;
  served: number;
  overlaps: number;
  inversions: number;
  tokensIncreasing: boolean;
  oversold: number;
  recoveryMs: number | null;
  longestWaitMs: number;
}

/** @param delivered how many articles there were to sell */
export function judge(events: readonly DemoEvent[], delivered: number): Figures;
