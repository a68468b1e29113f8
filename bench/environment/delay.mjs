import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PROXY = fileURLToPath(new URL('../workers/delay-proxy.mjs', import.meta.url));

/** A front of `url` that is `roundTrip` ms further away. */
export async function startDelay(url, roundTrip) {
  const { port } = new URL(url);
  const child = fork(PROXY, [port, String(roundTrip)]);
  const [message] = await once(child, 'message');
  return {
    url: `redis://127.0.0.1:${message.port}`,
    async stop() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}
