import { createHash } from 'node:crypto';

/** How much of a key is reported. */
const LONGEST_KEY = 1_024;

/** A key as reports show it: a digest stands for the end of a long one, so that two keys never look the same. */
export function reportedKey(key: string): string {
  if (!isLong(key)) return key;
  const digest = createHash('sha256').update(key, 'utf16le').digest('hex');
  return `${key.slice(0, LONGEST_KEY)}…${digest}`;
}

/** Whether a key is too long to be reported as it is. */
export function isLong(key: string): boolean {
  return key.length > LONGEST_KEY;
}
