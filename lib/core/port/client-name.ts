/** The parts of a holder's or waiter's name in a snapshot. */
export interface ClientName {
  readonly host?: string;
  readonly pid?: number;
  readonly label?: string;
}

/** `host/pid/label`, or `host/pid` of a caller without a label. */
export function clientName(process: string, label: string): string {
  return label === '' ? process : `${process}/${label}`;
}

/**
 * Parses `host/pid/label`; the label may contain slashes. Any other text, such as the id of a Java client of Redisson, becomes the
 * label of an unknown process.
 */
export function parseClientName(text: string): ClientName {
  const [, host, pid, label = ''] = /^([^/]+)\/(\d+)(?:\/(.*))?$/s.exec(text) ?? [];
  if (host === undefined) return { label: text };
  return { host, pid: Number(pid), ...(label !== '' && { label }) };
}
