/** Where code of the application has called a function; its text is made only when it is read. */
export interface CallSite {
  readonly stack?: string;
}

/** The caller of `called`, which is running. */
export function callSiteOf(called: (...args: never[]) => unknown): CallSite {
  const site: CallSite = {};
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 1;
  Error.captureStackTrace(site, called);
  Error.stackTraceLimit = stackTraceLimit;
  return site;
}

/** `OrdersService.reserve (file:///app/orders.service.js:12:30)`; undefined where it is not known. */
export function nameOfSite(site: CallSite | undefined): string | undefined {
  return /^\s+at (.+)$/m.exec(site?.stack ?? '')?.[1];
}
