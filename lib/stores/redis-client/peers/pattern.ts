/** The part of a pattern of Redis that matches exactly `text`. */
export function escapePattern(text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&');
}
