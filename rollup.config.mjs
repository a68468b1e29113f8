/**
 * The declarations: a file for each entry of the package, which holds no internal module. What entries share stands in chunks, so that
 * a class is the same type in all of them.
 */
import { readFileSync } from 'node:fs';
import dts from 'rollup-plugin-dts';

const { exports } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
const names = Object.values(exports)
  .map((target) => /^\.\/dist\/esm\/(.*)\.d\.ts$/.exec(target.import?.types)?.[1])
  .filter((name) => name !== undefined);

const types = { entryFileNames: '[name].d.ts', chunkFileNames: 'shared/[name].d.ts' };

/** The package is of type `module`; this half is not. */
const commonJs = {
  name: 'commonjs',
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: 'package.json', source: '{ "type": "commonjs" }\n' });
  },
};

/** The text of the board's page is packed once: the ESM half takes it from the other. */
const onePage = {
  name: 'one-page',
  generateBundle() {
    const fileName = 'board/page.generated.js';
    this.emitFile({ type: 'asset', fileName, source: `export { page } from '../../cjs/${fileName}';\n` });
  },
};

export default {
  input: Object.fromEntries(names.map((name) => [name, `lib/${name}.ts`])),
  output: [
    { ...types, dir: 'dist/esm', plugins: [onePage] },
    { ...types, dir: 'dist/cjs', plugins: [commonJs] },
  ],
  plugins: [dts({ tsconfig: 'lib/tsconfig.build.json', compilerOptions: { removeComments: false } })],
};
