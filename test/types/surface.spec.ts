import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('the package exports each folder of lib that has an index', () => {
  const { exports } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { exports: object };
  const entries = readdirSync(`${ROOT}lib`).filter((folder) => existsSync(`${ROOT}lib/${folder}/index.ts`));
  expect(Object.keys(exports).sort()).toEqual(
    ['.', './package.json', ...entries.map((entry) => `./${entry}`)].sort(),
  );
});
