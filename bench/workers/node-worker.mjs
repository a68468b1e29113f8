/** A process that runs one subject and does what workload.mjs knows, on command over the IPC channel. */
import { subjectNamed } from '../subjects/index.mjs';
import { Workload } from './workload.mjs';

const { subject: name, url, clients: count } = JSON.parse(process.argv[2] ?? '{}');
const subject = subjectNamed(name);
const clients = await Promise.all(Array.from({ length: count }, () => subject.open({ url })));
const workload = new Workload(clients, subject);

process.on('disconnect', () => process.exit());
process.on('message', async ({ id, verb, args }) => {
  try {
    process.send({ id, result: await workload[verb](args) });
  } catch (error) {
    process.send({ id, error: error instanceof Error ? error.stack : String(error) });
  }
});
process.send({ id: 0, result: {} });
