import { type INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { type FairLockProbe, FairLockTestingModule } from 'nestjs-fair-lock/testing';
import { AppModule } from './app.module.js';
import { validateEnvironment } from './environment.js';
import { describeApi } from './open-api.js';
import { Settings } from './settings.js';

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
