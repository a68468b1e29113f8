import { fragmentsOf } from '../docs/pages.js';
import { withoutChance } from '../docs/programs.js';
import { Newcomer } from './newcomer.js';

const PAGE = 'docs/getting-started.md';
const INSTALL_TIMEOUT = 600_000;

describe.each([
  { nest: '11', type: 'commonjs' },
  { nest: '12', type: 'module' },
] as const)('a person who follows "Getting started" on Nest $nest', (starter) => {
  const newcomer = new Newcomer(starter);
  beforeAll(() => newcomer.createApplication(), INSTALL_TIMEOUT);
  afterAll(() => newcomer.leave());

  test(
    'sees what the page says, step by step',
    async () => {
      let seen: string | undefined;
      let compared = 0;
      for (const { language, file, text, words, place } of fragmentsOf(PAGE)) {
        if (file !== undefined) newcomer.write(file, text);
        if (language === 'sh') seen = await newcomer.run(text);
        if (!words.includes('output')) continue;
        expect({ place, output: withoutChance(seen ?? '') }).toEqual({ place, output: withoutChance(text) });
        compared += 1;
      }
      expect(compared).toBe(3);
    },
    INSTALL_TIMEOUT,
  );
});
