/**
 * Refuses to publish what is not ready: `node tools/release-check.mjs [v1.2.3] [--notes]`.
 *
 * The address of the repository stands in one place, `repository` of package.json. From it npm derives where bugs are reported and
 * where the home page is; no page, message or link of the package depends on it.
 *
 * `--notes` prints the section of the changelog for this version, for the release on GitHub.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    notes: { type: 'boolean', default: false },
    package: { type: 'string' },
    changelog: { type: 'string' },
  },
});
const read = (file) => readFileSync(file, 'utf8');
const root = new URL('../', import.meta.url);
const manifest = JSON.parse(read(values.package ?? new URL('package.json', root)));
const changelog = read(values.changelog ?? new URL('CHANGELOG.md', root));

const problems = [...missing(positionals[0])];
if (problems.length > 0) {
  console.error(`Not ready to publish ${manifest.name} ${manifest.version}:`);
  for (const problem of problems) console.error(`- ${problem}`);
  process.exitCode = 1;
} else if (values.notes) {
  console.log(notes().trim());
} else {
  console.log(`${manifest.name} ${manifest.version} is ready to publish.`);
}

function* missing(tag) {
  const { version, repository } = manifest;
  const address = typeof repository === 'string' ? repository : repository?.url;
  if (!/^git\+https:\/\/github\.com\/[\w.-]+\/[\w.-]+\.git$/.test(address ?? '')) {
    yield (
      'package.json has no "repository" of the form { "type": "git", "url": "git+https://github.com/<owner>/<name>.git" }. ' +
      'Provenance needs it, and npm derives "homepage" and "bugs" from it.'
    );
  }
  if (tag !== undefined && tag !== `v${version}`) {
    yield `The tag is ${tag}, but package.json has version ${version}: tag the commit v${version}, or set the version.`;
  }
  if (notes() === undefined) {
    yield `CHANGELOG.md has no section "## ${version}" with a text: rename "## Unreleased".`;
  }
}

/** What the changelog says of this version; undefined if it says nothing. */
function notes() {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => text.split(/[\s[\]]+/).filter(Boolean)[0] === manifest.version);
  const text = section?.slice(section.indexOf('\n'));
  return text?.trim() ? text : undefined;
}
