import { type INestApplication } from '@nestjs/common';
import { jest } from '@jest/globals';
import { SchedulerRegistry } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { FairLockService } from 'nestjs-fair-lock';
import { AccountsService } from '../../sample-app/accounts/accounts.service.js';
import { AppModule } from '../../sample-app/app.module.js';
import { ShopData } from '../../sample-app/data/shop-data.js';
import { validateEnvironment } from '../../sample-app/environment.js';
import { Journal } from '../../sample-app/journal.js';
import { Settings } from '../../sample-app/settings.js';
import { Parcels } from '../../sample-app/shipping/parcels.js';
import { StockService } from '../../sample-app/stock/stock.service.js';
import { redisUrl, startRedisServer, uniquePrefix } from '../support/redis.js';
import { eventually, within, SOON } from '../support/waiting.js';

interface Note {
  readonly event: string;
  readonly token?: number;
  readonly customer?: string;
  readonly at: number;
}

/** A running instance of the shop, and what its journal said. */
class Shop {
  readonly notes: Note[] = [];
  readonly locks: FairLockService;

  private constructor(
    readonly app: INestApplication,
    readonly url: string,
  ) {
    this.locks = app.get(FairLockService);
  }

  static async open(settings: Partial<Settings>): Promise<Shop> {
    const made = Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(Settings)
      .useValue(Object.assign(new Settings(validateEnvironment({})), { packingTime: 2 }, settings));
    const app = (await made.compile()).createNestApplication({ logger: false, forceCloseConnections: true });
    await app.listen(0, '127.0.0.1');
    const shop = new Shop(app, await app.getUrl());
    jest.spyOn(app.get(Journal), 'note').mockImplementation((event, details) => {
      shop.notes.push({ event, ...details, at: performance.now() });
    });
    return shop;
  }

  notesOf(event: string): Note[] {
    return this.notes.filter((note) => note.event === event);
  }

  get(path: string, signal?: AbortSignal): Promise<Response> {
    return fetch(this.url + path, { signal: signal ?? null });
  }

  send(method: string, path: string, body: object): Promise<Response> {
    return fetch(this.url + path, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  order(customer: string): Promise<Response> {
    return this.send('POST', '/orders', { productId: 'lamp', quantity: 1, customer });
  }

  async lineLength(): Promise<number> {
    return (await this.locks.inspect('product:lamp')).queueLength;
  }
}

/** Leaves the stream open. */
async function firstEvent(stream: Response): Promise<unknown> {
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ''; ;) {
    const chunk = await reader?.read();
    if (!chunk || chunk.done) throw new Error(`The stream ended after: ${text}`);
    text += chunk.value;
    const data = /^data: (.*)$/m.exec(text)?.[1];
    if (data !== undefined) return JSON.parse(data) as unknown;
  }
}

describe('The sample app', () => {
  const shops: Shop[] = [];
  const open = async (settings: Partial<Settings>): Promise<Shop> => {
    const shop = await Shop.open(settings);
    shops.push(shop);
    return shop;
  };
  const onMemory = (): Promise<Shop> => open({ store: 'memory' });
  /** Two instances that share their data and their locks. */
  const twoOnRedis = (): Promise<[Shop, Shop]> => {
    const settings = { store: 'redis', redis: redisUrl(), namespace: uniquePrefix() } as const;
    return Promise.all([open(settings), open(settings)]);
  };

  const closeAll = async (): Promise<void> => {
    await Promise.all(shops.splice(0).map(({ app }) => app.close()));
  };
  afterEach(closeAll);

  const statusCounts = async (answers: Promise<Response>[]): Promise<Record<number, number>> => {
    const counts: Record<number, number> = {};
    for (const { status } of await Promise.all(answers)) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  };

  const orderTwenty = (...instances: Shop[]): Promise<Response>[] =>
    Array.from({ length: 20 }, (_, index) => {
      const shop = instances[index % instances.length];
      if (!shop) throw new Error('There is no shop.');
      return shop.order(`customer ${index}`);
    });

  describe('orders', () => {
    it('sells what is there and not one more', async () => {
      const shop = await onMemory();
      await shop.send('POST', '/stock/lamp/deliveries', { quantity: 12 });

      expect(await statusCounts(orderTwenty(shop))).toEqual({ 201: 12, 409: 8 });

      expect(await (await shop.get('/stock/lamp')).json()).toEqual({ stock: 0 });
      expect(await shop.app.get(ShopData).read('sold:lamp')).toBe(12);
    });

    it('sells what is there and not one more from two instances', async () => {
      const [first, second] = await twoOnRedis();
      await first.send('POST', '/stock/lamp/deliveries', { quantity: 12 });

      expect(await statusCounts(orderTwenty(first, second))).toEqual({ 201: 12, 409: 8 });

      expect(await (await second.get('/stock/lamp')).json()).toEqual({ stock: 0 });
    });

    it('oversells when each instance has a lock of its own, so it is the lock that prevents it', async () => {
      const settings = { store: 'redis', redis: redisUrl(), packingTime: 20 } as const;
      const first = await open({ ...settings, namespace: uniquePrefix() });
      const second = await open({ ...settings, namespace: uniquePrefix() });
      const shared = first.app.get(ShopData);
      for (const name of ['read', 'write'] as const) {
        jest.spyOn(second.app.get(ShopData), name).mockImplementation(shared[name].bind(shared) as never);
      }
      await first.send('POST', '/stock/lamp/deliveries', { quantity: 12 });

      const counts = await statusCounts(orderTwenty(first, second));

      expect(counts[201]).toBeGreaterThan(12);
    });

    it('serves in the order of arrival, with rising tokens', async () => {
      const [first, second] = await twoOnRedis();
      await first.send('POST', '/stock/lamp/deliveries', { quantity: 6 });
      const blocker = await first.locks.acquire('product:lamp');
      const answers: Promise<Response>[] = [];
      for (const [index, shop] of [first, second, second, first, second, first].entries()) {
        answers.push(shop.order(`customer ${index}`));
        await eventually(async () => (await first.lineLength()) === index + 1, SOON, 'a place in line');
      }
      await blocker.release();
      await Promise.all(answers);

      const begun = [...first.notesOf('order begun'), ...second.notesOf('order begun')].sort(
        (a, b) => a.at - b.at,
      );
      expect(begun.map(({ customer }) => customer)).toEqual(
        [0, 1, 2, 3, 4, 5].map((index) => `customer ${index}`),
      );
      const tokens = begun.map(({ token }) => token ?? 0);
      expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
      expect(tokens[0]).toBeGreaterThan(0);
    });

    it.each([
      {},
      { productId: 'lamp', quantity: 0, customer: 'c' },
      { productId: 7, quantity: 1, customer: 'c' },
    ])('refuses %j before it asks for a lock', async (body) => {
      const shop = await onMemory();
      const blocker = await shop.locks.acquire('product:lamp');
      expect((await shop.send('POST', '/orders', body)).status).toBe(400);
      await blocker.release();
    });

    it('lets a customer who hangs up leave the line', async () => {
      const shop = await onMemory();
      const blocker = await shop.locks.acquire('product:lamp');
      const leaving = new AbortController();
      const answer = fetch(`${shop.url}/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ productId: 'lamp', quantity: 1, customer: 'c' }),
        signal: leaving.signal,
      });
      await eventually(async () => (await shop.lineLength()) === 1, SOON, 'a place in line');
      leaving.abort();
      await expect(answer).rejects.toThrow('aborted');
      await eventually(async () => (await shop.lineLength()) === 0, SOON, 'an empty line');
      await blocker.release();
      expect(shop.notesOf('order begun')).toEqual([]);
    });
  });

  describe('transfers', () => {
    it('in both directions at once neither deadlock nor lose money', async () => {
      const [first, second] = await twoOnRedis();
      await first.send('POST', '/accounts/ann/deposits', { cents: 1_000 });
      await second.send('POST', '/accounts/bob/deposits', { cents: 1_000 });

      const transfers = Array.from({ length: 10 }, (_, index) => [
        first.send('POST', '/accounts/ann/transfers/bob', { cents: 10 + index }),
        second.send('POST', '/accounts/bob/transfers/ann', { cents: 20 }),
      ]).flat();

      expect(await statusCounts(transfers)).toEqual({ 201: 20 });
      // 10 + 11 + … + 19 = 145 went one way, 200 the other.
      expect(await (await second.get('/accounts/ann')).json()).toEqual({ balance: 1_055 });
      expect(await (await first.get('/accounts/bob')).json()).toEqual({ balance: 945 });
    });

    it('to oneself change nothing, and more than there is is refused', async () => {
      const shop = await onMemory();
      const accounts = shop.app.get(AccountsService);
      await accounts.deposit('ann', 100);
      await accounts.transfer('ann', 'ann', 60);
      expect(await accounts.balance('ann')).toBe(100);
      expect((await shop.send('POST', '/accounts/ann/transfers/bob', { cents: 101 })).status).toBe(409);
    });
  });

  it('refuses orders while the product is being counted, and takes them as soon as the stream is closed', async () => {
    const [first, second] = await twoOnRedis();
    await first.send('POST', '/stock/lamp/deliveries', { quantity: 1 });
    const counting = new AbortController();
    const stream = await first.get('/stock/lamp/stocktaking', counting.signal);
    expect(await firstEvent(stream)).toEqual({ productId: 'lamp', stock: 1 });

    const answer = second.order('customer');
    await eventually(async () => (await first.lineLength()) === 1, SOON, 'a place in line');
    expect(second.notesOf('order begun')).toEqual([]);
    counting.abort();

    expect((await within(answer, SOON, 'the order')).status).toBe(201);
    expect(first.notesOf('stocktaking ended')).toHaveLength(1);
  });

  it('restocks on one instance only, however many clocks strike', async () => {
    const [first, second] = await twoOnRedis();
    const strike = (shop: Shop): Promise<void> =>
      shop.app.get(SchedulerRegistry).getCronJob('restock').fireOnTick();
    // Keeps the first busy until the others have had their turn.
    const blocker = await second.locks.acquire('product:lamp');
    void strike(first);
    await eventually(async () => (await first.lineLength()) === 1, SOON, 'the work to begin');
    await strike(second);
    await eventually(() => first.locks.isLocked('job:restock'), SOON, 'the job lock');
    await blocker.release();

    const isKept = async (): Promise<boolean> =>
      (await first.locks.inspect('job:restock')).kept !== undefined;
    await eventually(isKept, SOON, 'the end');
    await strike(second); // its clock is late
    expect(first.notesOf('restocking')).toHaveLength(1);
    expect(second.notesOf('restocking')).toEqual([]);
    expect(await second.app.get(StockService).of('lamp')).toBe(10);
  });

  it.each(['memory', 'redis'] as const)(
    'refuses the late write of a price by its token (%s)',
    async (store) => {
      const shop = await open({ store, redis: redisUrl(), namespace: uniquePrefix() });
      const stale = await shop.locks.withLock('price:lamp', ({ token }) => token ?? 0);

      const answer = await shop.send('PUT', '/prices/lamp', { cents: 1_990 });
      expect(await answer.json()).toEqual({ before: 0, now: 1_990 });

      const late = shop.app.get(ShopData).writeFenced('price:lamp', 990, stale);
      await expect(late).rejects.toThrow('comes too late');
      expect(await (await shop.get('/prices/lamp')).json()).toEqual({ cents: 1_990 });
    },
  );

  describe('health', () => {
    it('is good while locks can be had', async () => {
      const shop = await onMemory();
      const answer = await shop.get('/health');
      expect(answer.status).toBe(200);
      expect(await answer.json()).toMatchObject({ status: 'ok', details: { locks: { status: 'up' } } });
    });

    it('is bad while Redis is away, and good again when it is back', async () => {
      const server = await startRedisServer();
      try {
        const shop = await open({ store: 'redis', redis: server.url });
        expect((await shop.get('/health')).status).toBe(200);
        await server.kill();
        expect((await shop.get('/health')).status).toBe(503);
        await server.restart();
        await eventually(async () => (await shop.get('/health')).ok, SOON, 'good health');
        // Its other clients are back, too. Closed while they reconnect, they would leave a timer behind.
        const parcel = { id: 'p-1', productId: 'lamp', quantity: 1, customer: 'c' };
        await within(shop.app.get(Parcels).add(parcel), SOON, 'the parcel');
        expect((await shop.get('/stock/lamp')).status).toBe(200);
      } finally {
        await closeAll();
        await server.stop();
      }
    });
  });
});
