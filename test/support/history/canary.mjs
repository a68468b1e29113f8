/**
 * Two processes with nothing to do but to pass a ball: when it comes back late, others who hand something on from process
 * to process were late too. Records that as stalls.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Recorder } from './worker-recorder.mjs';

const PERIOD = 10;
/** Less than that is what timers and pipes do anyway, ms. */
const NOTICEABLE = 20;
const PARTNER = 'partner';

if (process.argv[2] === PARTNER) {
  // The process that reads this may have gone meanwhile.
  process.on('message', (ball) => process.send(ball, undefined, undefined, () => undefined));
  process.on('disconnect', () => process.exit());
} else {
  play();
}

function play() {
  const recorder = new Recorder(4);
  const partner = fork(fileURLToPath(import.meta.url), [PARTNER]);
  process.on('disconnect', () => process.exit());
  let due;
  const serve = () => {
    due = performance.now() + PERIOD;
    setTimeout(() => partner.send('ball'), PERIOD);
  };
  partner.once('message', () => {
    recorder.record('ready', {});
    partner.on('message', () => {
      const ms = Math.round(performance.now() - due);
      if (ms >= NOTICEABLE) recorder.record('stall', { ms });
      serve();
    });
    serve();
  });
  partner.send('ball');
}
