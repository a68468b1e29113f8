import { existsSync } from 'node:fs';
import { defineConfig } from 'vitepress';

const page = (text, link) => ({ text, link });

/** `npm run docs` serves this site, `npm run docs -- build` builds it and fails on a dead link. */
export default defineConfig({
  title: 'nestjs-fair-lock',
  description:
    'Distributed locks for NestJS on Redis: mutex, semaphore, read/write lock, leader election; FIFO, crash-safe, with fencing tokens',
  lang: 'en',
  cleanUrls: true,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  // The index of the search is one file, loaded with the first search.
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
  // The pages are read in the repository and in the package too, where `README.md` is what a folder shows.
  rewrites: { 'internals/decisions/README.md': 'internals/decisions/index.md' },
  ignoreDeadLinks: [/^\.\/\.\.\/bench\//], // in the repository only, see `nameCode`
  // GitHub's own colours for code, in the variants that have enough contrast.
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: (markdown) => {
      linkNamedPages(markdown);
      nameCode(markdown);
      enterByReadme(markdown);
    },
  },
  themeConfig: {
    outline: [2, 3],
    search: { provider: 'local', options: { miniSearch: { searchOptions: { boostDocument: pagesFirst } } } },
    nav: [
      page('Guide', '/getting-started'),
      page('Recipes', '/recipes/orders'),
      page('Production', '/production'),
      page('API', '/api/'),
    ],
    sidebar: [
      {
        text: 'Guide',
        items: [
          page('Getting started', '/getting-started'),
          page('Locking methods and requests', '/locking'),
          page('The service', '/service'),
          page('Semaphores and read/write locks', '/sharing'),
          page('Configuration', '/configuration'),
          page('Errors', '/errors'),
          page('Testing', '/testing'),
        ],
      },
      {
        text: 'Recipes',
        items: [
          page('An order route', '/recipes/orders'),
          page('Cron on one instance', '/recipes/cron'),
          page('Leader election', '/recipes/leader'),
          page('Queue workers', '/recipes/queues'),
          page('Transactions', '/recipes/transactions'),
          page('Commands and events', '/recipes/cqrs'),
          page('Transports', '/recipes/transports'),
          page('Scripts and serverless', '/recipes/scripts-and-serverless'),
        ],
      },
      {
        text: 'To decide',
        items: [
          page('Reliability', '/reliability'),
          page('Alternatives', '/alternatives'),
          page('Migration', '/migration'),
          page('Performance', '/performance'),
        ],
      },
      {
        text: 'In production',
        items: [
          page('Checklist and shutdown', '/production'),
          page('Troubleshooting', '/troubleshooting'),
          page('Outages and failover', '/outages'),
          page('Redis setup', '/redis-setup'),
          page('Versions', '/versions'),
          page('Observability', '/observability'),
          page('Command line', '/cli'),
          page('Redisson (Java)', '/redisson'),
          page('A fair lock, step by step', '/step-by-step'),
        ],
      },
      {
        text: 'For maintainers',
        items: [
          page('Architecture', '/internals/architecture'),
          page('Protocol', '/internals/protocol'),
          page('What was tested', '/internals/tested'),
          page('Replicas and strict mode', '/internals/replication'),
          page('The store redisson on the wire', '/internals/redisson'),
          page('Decisions', '/internals/decisions/'),
        ],
      },
    ].map((group) => ({ ...group, items: group.items.filter(exists) })),
  },
});

/** The API has a place for every property of a name, which would stand above the page that explains it. Runs in the browser. */
function pagesFirst(place) {
  return place.startsWith('/api/') ? 0.1 : 1;
}

function exists({ link }) {
  const path = new URL(`..${link}`, import.meta.url).pathname;
  return [`${path}.md`, `${path}index.md`, `${path}README.md`].some((file) => existsSync(file));
}

/**
 * Pages that are packed name those that are not by their path, as in `docs/internals/protocol.md`, since a link would lead nowhere in the package.
 * On the site the path is a link.
 */
function linkNamedPages({ renderer }) {
  const asCode = renderer.rules.code_inline;
  renderer.rules.code_inline = (tokens, index, ...rest) => {
    const code = asCode(tokens, index, ...rest);
    const path = /^docs(\/[\w/-]+)\.md$/.exec(tokens[index].content)?.[1];
    return path && exists({ link: path })
      ? `<a href="${path.replace(/\/(index|README)$/, '/')}">${code}</a>`
      : code;
  };
}

/** Links to files of the code lead somewhere in the repository, and nowhere on the site: there they are text. */
function nameCode({ renderer }) {
  const asLink = renderer.rules.link_open;
  renderer.rules.link_open = (tokens, index, ...rest) => {
    const leadsToCode = /^\.\.\/(lib|test|bench)\//.test(tokens[index].attrGet('href'));
    return leadsToCode ? '<a>' : asLink(tokens, index, ...rest);
  };
}

/** The first page is README, whose links start one folder above. Those that leave `docs` are text here, as `nameCode` has it. */
function enterByReadme({ renderer }) {
  const asLink = renderer.rules.link_open;
  renderer.rules.link_open = (tokens, index, options, env, self) => {
    const link = tokens[index].attrGet('href');
    if (env.relativePath !== 'index.md' || /^(https?:|#)/.test(link))
      return asLink(tokens, index, options, env, self);
    const page = /^docs\/(.+\.md.*)$/.exec(link)?.[1];
    if (page === undefined) return '<a>';
    tokens[index].attrSet('href', page);
    return asLink(tokens, index, options, env, self);
  };
}
