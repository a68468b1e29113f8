/** Links of a page to other files: `[text](path#anchor)`. */

const IN_CODE = /^ *```[^]*?^ *```$|`[^`\n]*`/gm;

/** What the page links to, without addresses elsewhere and without what stands in code. Pictures are left out. */
export function linksOf(text) {
  return [...text.replaceAll(IN_CODE, '').matchAll(/(!?)\[[^\]]*\]\(([^)\s]+)\)/g)]
    .filter(([, picture, link]) => picture === '' && !/^(https?:|mailto:)/.test(link))
    .map(([, , link]) => link);
}

/** The pages that the text names by their path in the repository, as in `docs/protocol.md`. */
export function namedPagesOf(text) {
  return [...text.matchAll(/`((?:docs\/[\w/-]+|\w+\/README|[A-Z]+)\.md)`/g)].map(([, path]) => path);
}
