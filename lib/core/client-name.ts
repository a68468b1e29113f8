/** What a snapshot says of a holder or waiter, in its parts. */
export interface ClientName {
  readonly host?: string;
  readonly pid?: number;
  readonly label?: string;
}

/**
 * The parts of `host/pid/label`; the label may contain slashes. A store that only knows an id, as that of a Java client of
 * Redisson, gives that: it becomes the label of an unknown process.
 */
export function parseClientName(text: string): ClientName {
  const [, host, pid, label = ''] = /^([^/]+)\/(\d+)(?:\/(.*))?$/s.exec(text) ?? [];
  if (host === undefined) return { label: text };
  return { host, pid: Number(pid), ...(label !== '' && { label }) };
}
