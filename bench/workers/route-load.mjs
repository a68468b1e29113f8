/** Load on a route, by a process of its own: `connections` that each send the next request when they have the answer. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { percentile } from '../measure/stats.mjs';

process.on('message', async ({ port, connections, keys, ms }) => {
  const deadline = performance.now() + ms;
  const times = [];
  const begun = performance.now();
  await Promise.all(Array.from({ length: connections }, (_, n) => connection(n)));
  const seconds = (performance.now() - begun) / 1_000;
  process.send({
    requests: times.length,
    perSecond: times.length / seconds,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
  });

  async function connection(n) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    for (let key = n; performance.now() < deadline; key += connections) {
      const start = performance.now();
      socket.write(`GET /k${key % keys} HTTP/1.1\r\nHost: bench\r\n\r\n`);
      await answer(socket);
      times.push(performance.now() - start);
    }
    socket.destroy();
  }
});
process.send({ ready: true });

/** The whole of a short answer, which must be a success. */
function answer(socket) {
  return new Promise((resolve, reject) => {
    let text = '';
    const read = (chunk) => {
      text += chunk.toString('latin1');
      if (!text.endsWith('\r\n\r\nok')) {
        if (!text.startsWith('HTTP/1.1 2') && text.includes('\r\n\r\n')) done(new Error(text));
        return;
      }
      done();
    };
    const done = (error) => {
      socket.off('data', read);
      socket.off('close', gone);
      if (error) reject(error);
      else resolve();
    };
    const gone = () => done(new Error('The application closed the connection.'));
    socket.on('data', read);
    socket.on('close', gone);
  });
}
