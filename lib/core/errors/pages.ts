/** The packed pages that messages lead to. */
export type Page =
  | 'errors'
  | 'locking'
  | 'observability'
  | 'redis-setup'
  | 'shutdown'
  | 'testing'
  | 'times'
  | 'troubleshooting';

/** `sentence`, and where to read on: a path below `node_modules`. A sentence that names a page keeps it. */
export function withPage(sentence: string, page: Page): string {
  return /\.md\.$/.test(sentence) ? sentence : `${sentence} See nestjs-fair-lock/docs/${page}.md.`;
}
