import { jest } from '@jest/globals';
import { type INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { FairLockService } from 'nestjs-fair-lock';
import { type FairLockProbe, FairLockTestingModule } from 'nestjs-fair-lock/testing';
import { AppModule } from './app.module.js';
import { ShopData } from './data/shop-data.js';
import { validateEnvironment } from './environment.js';
import { Journal } from './journal.js';
import { describeApi } from './open-api.js';
import { Settings } from './settings.js';
import { RestockJob } from './stock/restock.job.js';

let app: INestApplication;
let url: string;
let locks: FairLockProbe;

beforeAll(async () => {
  const builder = Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(Settings)
    .useValue(new Settings(validateEnvironment({ STORE: 'memory', PACKING_TIME: '1' })));
  locks = FairLockTestingModule.replaceIn(builder);
  app = (await builder.compile()).createNestApplication({ logger: false, forceCloseConnections: true });
  describeApi(app);
  await app.listen(0, '127.0.0.1');
  url = await app.getUrl();
});

afterAll(() => app.close());

const post = (path: string, body: object): Promise<Response> =>
  fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

test('requests for one product wait for each other', async () => {
  await post('/stock/lamp/deliveries', { quantity: 1 });
  const order = { productId: 'lamp', quantity: 1, customer: 'c-17' };
  const answers = await locks.assertSerialized('product:lamp', [
    () => post('/orders', order),
    () => post('/orders', order),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([201, 409]);
});

test('the API is described, with its locked routes', async () => {
  const document = (await (await fetch(`${url}/api-json`)).json()) as { paths: object; components: object };
  expect(Object.keys(document.paths)).toContain('/orders');
  expect(document.components).toMatchObject({
    schemas: { Order: { required: expect.arrayContaining(['productId']) as unknown } },
  });
});

test('metrics tell of the locks', async () => {
  await post('/stock/lamp/deliveries', { quantity: 1 });
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toMatch(/^fairlock_hold_duration_seconds_count.* [1-9]/m);
});

test('the board is there', async () => {
  const answer = await fetch(`${url}/locks`);
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain('<html');
});

test('health is good while locks can be had', async () => {
  const answer = await fetch(`${url}/health`);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ details: { locks: { status: 'up' } } });
});

test('transfers in both directions neither deadlock nor lose money', async () => {
  for (const name of ['ann', 'bob']) await post(`/accounts/${name}/deposits`, { cents: 1_000 });
  await Promise.all(
    Array.from({ length: 10 }, () => [
      post('/accounts/ann/transfers/bob', { cents: 10 }),
      post('/accounts/bob/transfers/ann', { cents: 20 }),
    ]).flat(),
  );
  expect(await (await fetch(`${url}/accounts/ann`)).json()).toEqual({ balance: 1_100 });
  expect(await (await fetch(`${url}/accounts/bob`)).json()).toEqual({ balance: 900 });
});

test('a late write of a price is refused by its token', async () => {
  const stale = await app.get(FairLockService).withLock('price:lamp', ({ token }) => token ?? 0);
  await fetch(`${url}/prices/lamp`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ cents: 1_990 }),
  });
  await expect(app.get(ShopData).writeFenced('price:lamp', 990, stale)).rejects.toThrow('comes too late');
  expect(await (await fetch(`${url}/prices/lamp`)).json()).toEqual({ cents: 1_990 });
});

test('the nightly job restocks once, also where the clock of another instance is late', async () => {
  const note = jest.spyOn(app.get(Journal), 'note');
  await app.get(RestockJob).restock();
  await app.get(RestockJob).restock();
  expect(note.mock.calls.filter(([event]) => event === 'restocking')).toHaveLength(1);
});
