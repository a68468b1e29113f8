/**
 * Which files of lib may import which: no circles, and no import of a module in a higher layer. Imports of types count: they cost
 * nothing at run time, but a reader has to follow them. docs/internals/architecture.md has the layers in a picture.
 */

/** The layers of each folder, the lowest first, each with its modules: subfolders or files. The folder's other files are the highest layer. */
const LAYERS = {
  lib: [
    ['core'],
    ['stores'],
    ['setup'],
    ['standalone'],
    ['nest', 'observe'],
    ['board', 'cli', 'otel', 'prometheus', 'terminus', 'testing'],
  ],
  'lib/core': [
    ['errors', 'runtime'],
    ['options'],
    ['diagnostics'],
    ['port'],
    ['holds'],
    ['waits'],
    ['query'],
    ['warnings'],
    ['engine'],
  ],
  'lib/nest': [['client', 'fair-lock.tokens.ts'], ['decorator'], ['request'], ['module']],
  'lib/stores/redis-client': [['server'], ['connection'], ['commands'], ['peers', 'scripts', 'start-up']],
  'lib/stores/redis': [['scripts']],
  'lib/stores/redisson': [['scripts']],
  'lib/cli': [['call'], ['commands']],
};

/** Files that may name a store: one chooses it, the options and the public names have the types of its source. */
const STORE_CHOOSERS = ['lib/setup/store-factory.ts', 'lib/setup/options.ts', 'lib/setup/public.ts'];

const literally = (path) => path.replaceAll('.', '\\.');

/** The files of modules. */
const within = (folder, modules) => `^${folder}/(${modules.map(literally).join('|')})(/|$)`;

const upward = Object.entries(LAYERS).flatMap(([folder, layers]) =>
  layers.map((modules, layer) => ({
    name: `${folder}: ${modules.join(', ')} imports no higher layer`,
    severity: 'error',
    from: { path: within(folder, modules) },
    to: { path: `^${folder}/`, pathNot: within(folder, layers.slice(0, layer + 1).flat()) },
  })),
);

const closed = (name, from, to) => ({ name, severity: 'error', from, to });

export default {
  forbidden: [
    closed('no circles of files', {}, { circular: true }),
    { ...closed('no circles of folders', {}, { circular: true }), scope: 'folder' },
    ...upward,
    closed(
      'core imports only itself and Node',
      { path: '^lib/core/' },
      { pathNot: '^lib/core/', dependencyTypesNot: ['core'] },
    ),
    closed(
      'a store imports core and redis-client, never another store',
      { path: '^lib/stores/([^/]+)/' },
      { path: '^lib/', pathNot: ['^lib/core/', '^lib/stores/($1|redis-client)/'] },
    ),
    closed(
      'redis-client knows no store',
      { path: '^lib/stores/redis-client/' },
      { path: '^lib/stores/', pathNot: '^lib/stores/redis-client/' },
    ),
    closed(
      'the memory store knows no Redis',
      { path: '^lib/stores/memory/' },
      { path: '(redis-client|ioredis)' },
    ),
    closed(
      'the store is chosen in one place',
      { path: '^lib/(setup/|standalone/|nest/|[^/]+$)', pathNot: STORE_CHOOSERS.map(literally) },
      { path: '^lib/stores/' },
    ),
    closed(
      'stores, setup and the entry without Nest know no Nest',
      { path: '^lib/(stores|setup|standalone)/' },
      { path: '(^|/)(@nestjs|rxjs|reflect-metadata)/' },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
};
