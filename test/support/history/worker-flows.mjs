import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { oneRequest, seededRandom } from './worker-load.mjs';
import { TurnRecorder } from './worker-recorder.mjs';
import { Requests } from './worker-requests.mjs';

/**
 * Requests without end, in rounds: those of one round are recorded in files of their own, so that it can be judged, and
 * forgotten, while the next one runs.
 */
export class Flows {
  #services;
  #recorder;
  #name;
  #rounds = new Map();

  constructor(services, recorder, name) {
    this.#services = services;
    this.#recorder = recorder;
    this.#name = name;
  }

  /** @param round {import('./worker-process.js').Round} */
  async begin({ number, seed, flows, events, log }) {
    this.#forgetUntil(number - 2);
    const files = [openSync(events, 'a'), openSync(log, 'a')];
    const recorder = new TurnRecorder(files[0]);
    const round = { ended: false, complete: false, files, recorder };
    this.#rounds.set(number, round);
    const requests = new Requests(this.#services, recorder, files[1]);
    const random = seededRandom(seed);
    let begun = 0;
    const run = async ({ key, load, longestPause }) => {
      while (!round.ended) {
        begun += 1;
        await oneRequest(load, key, random, requests, 0, `${this.#name}#${number}.${begun}`);
        if (longestPause > 0) await sleep(longestPause * random());
      }
    };
    await Promise.all(flows.map(run));
    await requests.idle();
    recorder.flush();
    round.complete = true;
    this.#recorder.record('roundDone', { round: number });
  }

  /** No request begins any more; the round is over when all that began have ended. */
  end(number) {
    const round = this.#rounds.get(number);
    if (round) round.ended = true;
  }

  /**
   * Work that outlives its request may write for a while when the round is over; then its files are closed. Rounds may be
   * shorter than the waits in them: what is not over keeps its files.
   */
  #forgetUntil(last) {
    for (const [number, { complete, recorder, files }] of this.#rounds) {
      if (number > last || !complete) continue;
      recorder.flush();
      for (const file of files) closeSync(file);
      this.#rounds.delete(number);
    }
  }
}
