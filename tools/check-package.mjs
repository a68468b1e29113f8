/**
 * Packs the package and lets publint and attw look at the very tarball that would be published; then its size: what
 * every installation downloads and every module loader walks through.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const FORMATS = ['esm', 'cjs'];
const FILES_A_FORMAT = 150;
const UNPACKED_BYTES = 900_000;

const folder = mkdtempSync(join(tmpdir(), 'fair-lock-pack-'));

try {
  const packed = pack();
  const tarball = join(folder, packed.filename);
  run('npx', 'publint', 'run', tarball, '--strict');
  run('npx', 'attw', tarball);
  const unpacked = join(folder, 'package');
  execFileSync('tar', ['-xzf', tarball, '-C', folder]);
  const faults = [...tooLarge(packed), ...mapsOf(packed, unpacked)];
  if (faults.length > 0) throw new Error(faults.join('\n'));
  console.log(`${packed.files.length} files, ${packed.unpackedSize} bytes unpacked`);
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

function* tooLarge({ files, unpackedSize }) {
  for (const format of FORMATS) {
    const many = files.filter(({ path }) => path.startsWith(`dist/${format}/`)).length;
    if (many > FILES_A_FORMAT)
      yield `dist/${format} has ${many} files; at most ${FILES_A_FORMAT} are allowed.`;
  }
  if (unpackedSize > UNPACKED_BYTES) {
    yield `The package has ${unpackedSize} bytes unpacked; at most ${UNPACKED_BYTES} are allowed.`;
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

function run(command, ...args) {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed`);
}
