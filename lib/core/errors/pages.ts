/** The headings of packed pages that messages lead to, each about what the message says. */
export type Page =
  | 'errors#a-hold-used-after-its-end'
  | 'errors#a-value-that-makes-no-key'
  | 'errors#an-override-without-a-decorator'
  | 'errors#an-unhandled-rejection'
  | 'errors#a-wait-that-could-never-end'
  | 'observability#the-board'
  | 'recipes/leader#what-the-log-says'
  | 'redis-setup#a-proxy-in-front'
  | 'outages#replicas'
  | 'outages#servers-without-wait'
  | 'outages#strict'
  | 'locking#what-ends-a-wait'
  | 'service#acquire'
  | 'sharing#kinds-exclude-each-other'
  | 'production#shutdown'
  | 'configuration#how-long-a-call-waits'
  | 'troubleshooting#a-lock-stays-held'
  | 'troubleshooting#a-lock-was-lost'
  | 'troubleshooting#responses-with-503-a-full-queue'
  | 'troubleshooting#responses-with-503-redis'
  | 'troubleshooting#responses-with-503-replicas'
  | 'troubleshooting#responses-with-503-versions'
  | 'troubleshooting#responses-with-503-while-deploying'
  | 'troubleshooting#calls-give-up-423'
  | 'troubleshooting#redis-was-unavailable'
  | 'troubleshooting#warnings-at-the-start';

/** The end of a sentence that names a page. */
const NAMES_PAGE = /\.md(?:#[\w-]+)?\.$/;

/**
 * `sentence`, and where to read on: a path below `node_modules`. A sentence that names a page keeps it.
 *
 * @param note comes before the page
 */
export function withPage(sentence: string, page: Page, note = ''): string {
  if (NAMES_PAGE.test(sentence)) return sentence;
  return `${sentence}${note} See nestjs-fair-lock/docs/${page.replace('#', '.md#')}.`;
}
