import { fragmentsOf } from '../docs/pages.js';
import { withoutChance } from '../docs/programs.js';
import { Newcomer, STARTERS } from './newcomer.js';

const PAGE = 'docs/getting-started.md';
const INSTALL_TIMEOUT = 600_000;
/**
 * A section of the page lasts half a second, and its reader looks after 0.3 s: a busy machine may take that for the start of curl. So the
 * pauses of the application and of the reader are longer here by this factor.
 */
const SLOWER = 5;
const PAUSES = /(?<=\bsleep |setTimeout\(resolve, )[\d.]+/g;
const slower = (text: string): string => text.replaceAll(PAUSES, (pause) => String(SLOWER * Number(pause)));

describe.each(STARTERS)('a person who follows "Getting started" on Nest $nest', (starter) => {
  const newcomer = new Newcomer(starter);
  beforeAll(() => newcomer.createApplication(), INSTALL_TIMEOUT);
  afterAll(() => newcomer.leave());

  test(
    'sees what the page says, step by step',
    async () => {
      let seen: string | undefined;
      let compared = 0;
      for (const { language, file, text, words, place } of fragmentsOf(PAGE)) {
        if (file !== undefined) newcomer.write(file, slower(text));
        if (language === 'sh') seen = await newcomer.run(slower(text));
        if (!words.includes('output')) continue;
        expect({ place, output: withoutChance(seen ?? '') }).toEqual({ place, output: withoutChance(text) });
        compared += 1;
      }
      expect(compared).toBe(3);
    },
    INSTALL_TIMEOUT,
  );
});
