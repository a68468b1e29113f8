import { type INestApplication } from '@nestjs/common';

/** Opens an application and prints its address. Its process closes when its input ends, as when the tests are killed. */
export async function open(app: INestApplication): Promise<void> {
  app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  console.log(JSON.stringify({ url: await app.getUrl() }));
  process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM')).resume();
}
