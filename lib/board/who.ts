/** `host/pid/label` of a snapshot in its parts; the label may contain slashes. */
export function parseWho(who: string): { host: string; pid: number; label?: string } {
  const [host = '', pid = '', ...rest] = who.split('/');
  const label = rest.join('/');
  return { host, pid: Number(pid), ...(label !== '' && { label }) };
}
