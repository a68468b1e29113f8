import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fragmentsOf } from '../docs/pages.js';
import { redisUrl } from '../support/redis.js';
import { Newcomer, STARTERS } from './newcomer.js';

const INSTALL_TIMEOUT = 600_000;

const [install, example] = fragmentsOf('README.md');

const ORDERS = 5;

/** Orders of one account, sent by each process without waiting for the one before. */
const SHOP = `import { NestFactory } from '@nestjs/core';
import { AppModule, Supplier } from './app.module.js';

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const supplier = app.get(Supplier);
  const orders = Array.from({ length: ${ORDERS} }, () => supplier.order('acme', 'lamp'));
  for (const answer of await Promise.all(orders)) console.log(answer);
  await app.close();
}
void main();
`;

/** The supplier of the example: it rejects an order for an account while it is still working on another. */
class StrictSupplier {
  private readonly busy = new Set<string>();
  private readonly server = createServer((request, response) => {
    const account = request.url ?? '';
    if (this.busy.has(account)) return void response.end('rejected');
    this.busy.add(account);
    setTimeout(() => {
      this.busy.delete(account);
      response.end('accepted');
    }, 100);
  });

  async open(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
  }
}

describe.each(STARTERS)(
  'a reader of README with Nest $nest, "type": "$type" and no Redis on the PATH',
  (starter) => {
    const programs = mkdtempSync(join(tmpdir(), 'fair-lock-path-'));
    const newcomer = new Newcomer(starter, { ...process.env, PATH: programs, REDIS_URL: redisUrl() });
    const supplier = new StrictSupplier();
    beforeAll(async () => {
      for (const name of ['node', 'npm', 'sh', 'bash']) symlinkSync(pathOf(name), join(programs, name));
      await newcomer.createApplication();
    }, INSTALL_TIMEOUT);
    afterAll(async () => {
      supplier.close();
      await newcomer.leave();
      rmSync(programs, { recursive: true });
    });

    test(
      'installs it, and two processes of the example send one order at a time to a supplier that rejects a second one',
      async () => {
        const address = await supplier.open();
        await newcomer.run(install!.text);
        newcomer.write(
          'src/app.module.ts',
          example!.text
            .replace('redis://localhost:6379', redisUrl())
            .replace('https://supplier.example', address),
        );
        newcomer.write('src/shop.ts', SHOP);
        await newcomer.run('npm run build\n');
        const printed = await newcomer.run('node dist/shop.js & node dist/shop.js; wait\n');
        expect(printed).toBe('accepted\n'.repeat(2 * ORDERS));
      },
      INSTALL_TIMEOUT,
    );
  },
);

function pathOf(name: string): string {
  return name === 'node'
    ? process.execPath
    : execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
}
