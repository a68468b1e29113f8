/** A process with nothing to do: when it gets no turn, nobody else surely got one either. Records that as stalls. */
import { Recorder } from './worker-recorder.mjs';

const PERIOD = 10;
/** Less than that is what timers do anyway, ms. */
const NOTICEABLE = 20;

const recorder = new Recorder(4);
process.on('disconnect', () => process.exit());
recorder.record('ready', {});
let last = performance.now();
setInterval(() => {
  const time = performance.now();
  const ms = Math.round(time - last - PERIOD);
  if (ms >= NOTICEABLE) recorder.record('stall', { ms });
  last = time;
}, PERIOD);
