import { Test, type TestingModule } from '@nestjs/testing';
import { FairLockService, LockNotHeldError, LockTimeoutError } from 'nestjs-fair-lock';
import { FairLockProbe, FairLockTestingModule } from 'nestjs-fair-lock/testing';
import { MemoryShopData } from '../data/memory-shop-data.js';
import { ShopData } from '../data/shop-data.js';
import { validateEnvironment } from '../environment.js';
import { JournalModule } from '../journal.js';
import { requireLock } from '../locks/require-lock.js';
import { Settings } from '../settings.js';
import { StockService } from '../stock/stock.service.js';
import { Order } from './order.js';
import { OrdersService } from './orders.service.js';

const LAMP = new Order('lamp', 1, 'c-17');

let testing: TestingModule;
let orders: OrdersService;
let stock: StockService;
let locks: FairLockProbe;

beforeEach(async () => {
  testing = await Test.createTestingModule({
    imports: [FairLockTestingModule.forRoot(), JournalModule],
    providers: [
      OrdersService,
      StockService,
      { provide: ShopData, useClass: MemoryShopData },
      { provide: Settings, useValue: new Settings(validateEnvironment({ PACKING_TIME: '1' })) },
    ],
  }).compile();
  await testing.init();
  orders = testing.get(OrdersService);
  stock = testing.get(StockService);
  locks = testing.get(FairLockProbe);
  await stock.add('lamp', 3);
});

afterEach(() => testing.close());

test('orders for one product exclude each other, and deliveries of it', async () => {
  await locks.assertSerialized('product:lamp', [
    () => orders.place(LAMP),
    () => stock.add('lamp', 1),
    () => orders.place(LAMP),
  ]);
  expect(await stock.of('lamp')).toBe(2);
});

test('an order takes the lock of its product', () => {
  expect(locks.keysOf(orders, 'place', LAMP)).toEqual(['product:lamp']);
  expect(locks.keysOf(stock, 'fillUp', 'lamp', 1)).toEqual(['product:lamp']);
});

test('an order without the lock sells nothing', async () => {
  const busy = new LockTimeoutError('product:lamp', 60_000);
  await expect(locks.failNext('product:lamp', busy, () => orders.place(LAMP))).rejects.toThrow(
    LockTimeoutError,
  );
  expect(await stock.of('lamp')).toBe(3);
});

test('an order that loses its lock while it packs sells nothing', async () => {
  const placing = orders.place(new Order('lamp', 3, 'c-18')).catch((error: unknown) => error);
  // It reads the stock before it packs.
  await new Promise(setImmediate);
  await locks.lose('product:lamp');
  expect(await placing).toMatchObject({ code: 'LOST' });
  expect(await stock.of('lamp')).toBe(3);
});

test('what must not run without a lock fails where none is held', async () => {
  expect(() => requireLock(testing.get(FairLockService), 'product:lamp')).toThrow(LockNotHeldError);
  await expect(stock.pack('lamp', 1)).rejects.toThrow(LockNotHeldError);
});
