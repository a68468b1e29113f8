import { readFileSync } from 'node:fs';

const path = new URL('../../node_modules/@nestjs/core/package.json', import.meta.url);
const { version } = JSON.parse(readFileSync(path, 'utf8')) as { version: string };

/** For what Nest 11 does otherwise; the README of the tests says how to install it. */
export const onNest12 = version.startsWith('11.') ? test.skip : test;
