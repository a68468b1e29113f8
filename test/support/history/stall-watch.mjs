const PERIOD = 10;
/** Less than that is what timers do anyway, ms. */
const NOTICEABLE = 20;

/** From now on it is recorded when this process got no turn. */
export function watchStalls(recorder) {
  let last = performance.now();
  return setInterval(() => {
    const time = performance.now();
    const ms = Math.round(time - last - PERIOD);
    if (ms >= NOTICEABLE) recorder.record('stall', { ms });
    last = time;
  }, PERIOD);
}
