/**
 * Packs the package and lets publint and attw look at the very tarball that would be published; then its size: what
 * every installation downloads and every module loader walks through; and whether the public types are the committed ones.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { linksOf } from './page-links.mjs';

const FORMATS = ['esm', 'cjs'];
const FILES_A_FORMAT = 170;
/** Of the whole tarball. */
const PACKED_BYTES = 280_000;
/** Of the code of the main entry, with what it shares with others. */
const UNPACKED_BYTES = 1_000_000;
/** Files of another entry than the main one, or of a program: `dist/esm/testing/…`. */
const OF_OTHERS = new RegExp(`^dist/(?:${FORMATS.join('|')})/(?:${otherEntries().join('|')})/`);

const folder = mkdtempSync(join(tmpdir(), 'fair-lock-pack-'));

try {
  const packed = pack();
  const tarball = join(folder, packed.filename);
  run('npx', 'publint', 'run', tarball, '--strict');
  run('npx', 'attw', tarball);
  const unpacked = join(folder, 'package');
  execFileSync('tar', ['-xzf', tarball, '-C', folder]);
  const faults = [
    ...changedTypes(),
    ...tooLarge(packed),
    ...mapsOf(packed, unpacked),
    ...deadLinksOf(packed, unpacked),
  ];
  if (faults.length > 0) throw new Error(faults.join('\n'));
  console.log(`${packed.files.length} files, ${packed.size} bytes packed, ${packed.unpackedSize} unpacked`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** `prepack` builds first; what it prints comes before the JSON. */
function pack() {
  const output = execFileSync('npm', ['pack', '--silent', '--json', '--pack-destination', folder], {
    encoding: 'utf8',
  });
  const [packed] = JSON.parse(output.slice(output.lastIndexOf('\n[\n') + 1));
  return packed;
}

/** The build wrote the reports of the public types anew. */
function* changedTypes() {
  const { status, stdout } = spawnSync('git', ['diff', '--exit-code', '--', 'api'], { encoding: 'utf8' });
  if (status === 0) return;
  yield `${stdout}The public types have changed. If that is intended, commit api/, and write the change into CHANGELOG.md.`;
}

/** The folders of the entries beside the main one, and of the programs. */
function otherEntries() {
  const { exports, bin = {} } = JSON.parse(readFileSync('package.json', 'utf8'));
  const subpaths = Object.keys(exports).map((path) => path.slice('./'.length));
  const programs = Object.values(bin).map((path) => /^\.\/dist\/\w+\/(.+)\/[^/]+$/.exec(path)[1]);
  return [...subpaths.filter((path) => path !== '' && path !== 'package.json'), ...programs];
}

function* tooLarge({ files, size }) {
  const ofMain = files.filter(({ path }) => path.startsWith('dist/') && !OF_OTHERS.test(path));
  const unpacked = ofMain.reduce((sum, file) => sum + file.size, 0);
  for (const format of FORMATS) {
    const many = ofMain.filter(({ path }) => path.startsWith(`dist/${format}/`)).length;
    if (many > FILES_A_FORMAT)
      yield `dist/${format} has ${many} files; at most ${FILES_A_FORMAT} are allowed.`;
  }
  if (unpacked > UNPACKED_BYTES) {
    yield `The main entry has ${unpacked} bytes unpacked; at most ${UNPACKED_BYTES} are allowed.`;
  }
  if (size > PACKED_BYTES) {
    yield `The package has ${size} bytes packed; at most ${PACKED_BYTES} are allowed.`;
  }
}

/** A source map is of use only with its sources, which are not packed. */
function* mapsOf({ files }, unpacked) {
  for (const { path } of files) {
    const mapped =
      path.endsWith('.js') && /^\/\/# sourceMappingURL=/m.test(readFileSync(join(unpacked, path), 'utf8'));
    if (path.endsWith('.map') || mapped) yield `${path} has a source map.`;
  }
}

/**
 * A page that is packed may name a page that is not, but not link to it. The README may: npm shows it with the links of the repository,
 * whose address stands in package.json.
 */
function* deadLinksOf({ files }, unpacked) {
  const packed = new Set(files.map(({ path }) => path));
  const { repository } = JSON.parse(readFileSync('package.json', 'utf8'));
  if (!repository)
    console.warn(
      'package.json has no "repository": links of the README to pages that are not packed lead nowhere on npm.',
    );
  for (const page of [...packed].filter((path) => path.endsWith('.md'))) {
    for (const link of linksOf(readFileSync(join(unpacked, page), 'utf8'))) {
      const [path] = link.split('#');
      const target = join(dirname(page), path);
      const isThere = packed.has(target) || (page === 'README.md' && existsSync(target));
      if (path !== '' && !isThere) yield `${page} links to ${target}, which is not packed.`;
    }
  }
}

function run(command, ...args) {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed`);
}
