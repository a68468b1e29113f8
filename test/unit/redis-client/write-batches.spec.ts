import { Writable } from 'node:stream';
import { WriteBatches } from '../../../lib/stores/redis-client/write-batches.js';

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('commands of one turn of the event loop', () => {
  let writes: number[];
  let stream: Writable;
  let batches: WriteBatches;
  let time: number;
  const send = (count: number): void => {
    for (let i = 0; i < count; i += 1) {
      batches.before(stream, time);
      stream.write('.');
    }
  };

  beforeEach(() => {
    writes = [];
    stream = new Writable({
      write: (chunk: Buffer, _, done) => {
        writes.push(chunk.length);
        done();
      },
      writev: (chunks, done) => {
        writes.push(chunks.length);
        done();
      },
    });
    batches = new WriteBatches();
    time = 1_000;
  });

  test('leave in few writes: the first at once, the others sixteen together', async () => {
    send(40);
    await endOfTurn();
    expect(writes).toEqual([1, 16, 16, 7]);
  });

  test('wait for nobody when alone', () => {
    send(1);
    expect(writes).toEqual([1]);
  });

  test('begin anew with each turn', async () => {
    send(2);
    await endOfTurn();
    time += 1;
    send(1);
    expect(writes).toEqual([1, 1, 1]);
  });

  test('are not held back where the connection was replaced meanwhile', async () => {
    send(2);
    const replaced = stream;
    const later: number[] = [];
    stream = new Writable({
      write: (chunk: Buffer, _, done) => {
        later.push(chunk.length);
        done();
      },
    });
    send(1);
    expect(later).toEqual([1]);
    await endOfTurn();
    expect(replaced.writableCorked).toBe(0);
  });
});
