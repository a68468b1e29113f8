import { readFileSync } from 'node:fs';

const { exports } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));

/** The sources of what the package exports: a folder for each subpath. */
const entryPoints = Object.values(exports).flatMap((entry) => {
  const built = entry['module-sync']?.default;
  return built ? [built.replace('./dist/esm/', 'lib/').replace(/\.js$/, '.ts')] : [];
});

/** The API pages of the docs site: `npm run docs`. */
export default {
  plugin: ['typedoc-plugin-markdown'],
  tsconfig: 'lib/tsconfig.build.json',
  entryPoints,
  out: 'docs/api',
  readme: 'none',
  entryFileName: 'index',
  hideBreadcrumbs: true,
  hidePageHeader: true,
  disableSources: true,
  excludeInternal: true,
  excludePrivate: true,
  treatWarningsAsErrors: true,
  // The types that check a key at compile time are not for reading.
  validation: { notExported: false, invalidLink: true },
  parametersFormat: 'table',
  router: 'member',
};
