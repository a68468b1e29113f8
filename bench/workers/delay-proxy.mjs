/**
 * A TCP front of Redis that adds a round trip: half of it each way. Arguments: port of Redis, ms. Prints its own port.
 *
 * Timers are too coarse for a quarter of a millisecond, so while something is on its way it looks at the clock in every
 * turn of the event loop.
 */
import { connect, createServer } from 'node:net';

const HOST = '127.0.0.1';
const [port, roundTrip] = process.argv.slice(2).map(Number);
const oneWay = roundTrip / 2;
const onTheWay = [];
let looking = false;

const server = createServer((client) => {
  const redis = connect({ host: HOST, port });
  join(client, redis);
  join(redis, client);
});
server.listen(0, HOST, () => process.send({ port: server.address().port }));
process.on('disconnect', () => process.exit());

function join(from, to) {
  from.setNoDelay(true);
  from.on('error', () => to.destroy()).on('close', () => to.destroy());
  from.on('data', (chunk) => {
    onTheWay.push({ due: performance.now() + oneWay, to, chunk });
    if (looking) return;
    looking = true;
    look();
  });
}

/** All take the same time, so they arrive in the order in which they left. */
function look() {
  while (onTheWay.length > 0 && onTheWay[0].due <= performance.now()) {
    const { to, chunk } = onTheWay.shift();
    if (!to.destroyed) to.write(chunk);
  }
  looking = onTheWay.length > 0;
  if (looking) setImmediate(look);
}
