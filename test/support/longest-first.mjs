import Sequencer from '@jest/test-sequencer';

/** Short files that take long: each runs a whole contract, or many seeds. */
const LONG = /contract|simulation[/\\]invariants/;

/** In a fresh checkout Jest knows no durations and starts the largest files first: then it would wait for these at the end. */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const isLong = ({ path }) => LONG.test(path);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
}
