/** A second process, by the CommonJS half: waits for a lock, says when it has it, and holds it until told or killed. */
const library = require('nestjs-fair-lock');

async function main() {
  const { openApplication } = await import('./application.mjs');
  const [keyPrefix, key] = process.argv.slice(2);
  const { app, locks } = await openApplication(library, keyPrefix);
  const acquiring = locks.acquire(key, { onQueued: () => console.log('queued') });
  const lock = await acquiring;
  console.log(`granted ${lock.token}`);
  process.stdin.once('data', async () => {
    await lock.release();
    await app.close();
    process.exit(0);
  });
}

main();
