import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { HISTORIC } from './historic.js';
import { REPLICATION } from './replication.js';
import { RULES } from './rules.js';
import { SHARING } from './sharing.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(`${ROOT}/${path}`, 'utf8');

/** The museum itself takes many minutes; this says at once when the code or a test has moved on. */
describe('the exhibits of the museum', () => {
  const exhibits = [...HISTORIC, ...RULES, ...SHARING, ...REPLICATION].map((exhibit) => ({
    ...exhibit,
    title: `${exhibit.of}: ${exhibit.what}`,
  }));

  test.each(exhibits)('$title', ({ mutations, proof }) => {
    for (const { file, from } of mutations) {
      const places = read(`lib/${file}`).split(from).length - 1;
      expect({ file, from, places }).toEqual({ file, from, places: 1 });
    }
    if (proof.by !== 'test') return;
    expect(read(`test/${proof.file}`)).toContain(proof.name);
    // Jest fills these in, so that no test has such a name.
    expect(proof.name).not.toMatch(/\$\w|%[sdj]/);
  });
});
