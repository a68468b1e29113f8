/** A process of the bench does what it is asked, one thing after the other. */

/** What it was started with. @type {any} */
export const settings = JSON.parse(process.argv[2] ?? '{}');

/** Each answer also tells how long it took, and the CPU that this process used for it. */
export function serve(verbs, ready = {}) {
  process.on('disconnect', () => process.exit());
  process.on('message', async ({ verb, args }) => {
    const begun = performance.now();
    const before = process.cpuUsage();
    try {
      const result = await verbs[verb](args);
      const { user, system } = process.cpuUsage(before);
      process.send({ result: { ...result, ms: performance.now() - begun, cpuUs: user + system } });
    } catch (error) {
      process.send({ error: String(error?.stack ?? error) });
    }
  });
  process.send({ result: ready });
}

/** The host's monotonic clock, ms: it compares between processes. */
export const stamp = () => Number(process.hrtime.bigint()) / 1e6;
