import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fairLock } from './fair-lock-redis.mjs';

/** Folders with other versions of this package, built there (`npm run build`), separated by commas. Workers inherit it. */
const FOLDERS = (process.env.BENCH_BESIDE ?? '').split(',').filter(Boolean);

/** They are measured in the same rounds as this build. Each has its own keys: the formats may differ. */
export const otherBuilds = FOLDERS.map((folder, i) =>
  fairLock(`build-${i + 1}`, folder, `beside-${i + 1}`, pathToFileURL(`${resolve(folder)}/dist/esm/`)),
);
