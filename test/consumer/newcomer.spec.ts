import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fragmentsOf } from '../docs/pages.js';
import { withoutChance } from '../docs/programs.js';
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
function strictSupplier() {
  const busy = new Set<string>();
  const server = createServer((request, response) => {
    const account = request.url ?? '';
    if (busy.has(account)) return void response.end('rejected');
    busy.add(account);
    setTimeout(() => {
      busy.delete(account);
      response.end('accepted');
    }, 100);
  });
  return {
    async open(): Promise<string> {
      await once(server.listen(0, '127.0.0.1'), 'listening');
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
    close: () => server.close(),
  };
}

/**
 * A section of the page lasts half a second, and its reader looks after 0.3 s: a busy machine may take that for the start of curl. So the
 * pauses of the application and of the reader are longer here by this factor.
 */
const SLOWER = 5;
const PAUSES = /(?<=\bsleep |setTimeout\(resolve, )[\d.]+/g;
const slower = (text: string): string => text.replaceAll(PAUSES, (pause) => String(SLOWER * Number(pause)));

describe.each(STARTERS)('on Nest $nest, "type": "$type",', (starter) => {
  const application = new Newcomer();
  beforeAll(() => application.createApplication(starter), INSTALL_TIMEOUT);
  afterAll(() => application.leave());

  test(
    'a reader of README without Redis on the PATH installs it, and two processes of the example send one order at a time to a supplier that rejects a second one',
    async () => {
      const programs = mkdtempSync(join(tmpdir(), 'fair-lock-path-'));
      for (const name of ['node', 'npm', 'sh', 'bash']) symlinkSync(pathOf(name), join(programs, name));
      const newcomer = new Newcomer({ ...process.env, PATH: programs, REDIS_URL: redisUrl() });
      const supplier = strictSupplier();
      try {
        newcomer.copyApplication(application);
        await newcomer.run(install!.text);
        newcomer.write(
          'src/app.module.ts',
          example!.text
            .replace('redis://localhost:6379', redisUrl())
            .replace('https://supplier.example', await supplier.open()),
        );
        newcomer.write('src/shop.ts', SHOP);
        await newcomer.run('npm run build\n');
        const printed = await newcomer.run('node dist/shop.js & node dist/shop.js; wait\n');
        expect(printed).toBe('accepted\n'.repeat(2 * ORDERS));
      } finally {
        supplier.close();
        await newcomer.leave();
        rmSync(programs, { recursive: true });
      }
    },
    INSTALL_TIMEOUT,
  );

  test(
    'a person who follows "Getting started" sees what the page says, step by step',
    async () => {
      const newcomer = new Newcomer();
      try {
        newcomer.copyApplication(application);
        let seen: string | undefined;
        let compared = 0;
        for (const { language, file, text, words, place } of fragmentsOf('docs/getting-started.md')) {
          if (file !== undefined) newcomer.write(file, slower(text));
          if (language === 'sh') seen = await newcomer.run(slower(text));
          if (!words.includes('output')) continue;
          expect({ place, output: withoutChance(seen ?? '') }).toEqual({
            place,
            output: withoutChance(text),
          });
          compared += 1;
        }
        expect(compared).toBe(3);
      } finally {
        await newcomer.leave();
      }
    },
    INSTALL_TIMEOUT,
  );
});

function pathOf(name: string): string {
  return name === 'node'
    ? process.execPath
    : execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
}
