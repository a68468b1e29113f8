/**
 * A process that leads whenever it can, with the built package, and says what happens: one JSON line for each event, with the monotonic
 * clock of the host (ns) that all processes share. Commands come by IPC.
 */
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFairLock } from 'nestjs-fair-lock/standalone';

/** How often a leader looks whether it still leads, ms. */
const LOOK = 10;

const say = (type, more) =>
  writeSync(1, `${JSON.stringify({ type, at: Number(process.hrtime.bigint()), ...more })}\n`);

process.on('unhandledRejection', (error) => say('unhandled', { text: String(error) }));
process.on('uncaughtException', (error) => say('unhandled', { text: String(error) }));
process.on('disconnect', () => process.exit(1));

const locks = await createFairLock(JSON.parse(process.argv[2]), (text) => say('warning', { text }));
const leadership = locks.lead('leader', async (lock) => {
  say('leads', { token: lock.token });
  lock.signal.addEventListener('abort', () =>
    say('told', { isLeader: leadership.isLeader, why: lock.signal.reason.name }),
  );
  while (!lock.signal.aborted) {
    const at = Number(process.hrtime.bigint());
    if (leadership.isLeader) say('led', { at });
    await sleep(LOOK);
  }
  say('ends');
});

const commands = {
  stop: () => leadership.stop(),
  close: async () => {
    await leadership.stop();
    await locks.close();
    process.disconnect();
  },
};
process.on('message', (command) => void commands[command]());
for (let state; leadership.state !== 'stopped'; await sleep(LOOK, undefined, { ref: false })) {
  if (leadership.state !== state) say('state', { state: (state = leadership.state) });
}
