import { Test, type TestingModule } from '@nestjs/testing';
import { LockTimeoutError } from 'nestjs-fair-lock';
import { FairLockProbe, FairLockTestingModule } from 'nestjs-fair-lock/testing';
import { OrdersService } from './orders.service.js';

let testing: TestingModule;
let orders: OrdersService;
let locks: FairLockProbe;

beforeEach(async () => {
  testing = await Test.createTestingModule({
    imports: [FairLockTestingModule.forRoot()],
    providers: [OrdersService],
  }).compile();
  await testing.init();
  orders = testing.get(OrdersService);
  locks = testing.get(FairLockProbe);
});

afterEach(() => testing.close());

test('an order is paid by one call at a time', async () => {
  const pay = () => orders.pay('42', 100);
  expect(await locks.assertSerialized('order:42', [pay, pay, pay])).toEqual([100, 200, 300]);
});

test('each order has its own lock', () => {
  expect(locks.keysOf(orders, 'pay', '42', 100)).toEqual(['order:42']);
});

test('a payment waits for another process', async () => {
  const held = await locks.hold('order:42');
  const paying = orders.pay('42', 100);
  await locks.waitForLine('order:42', 1);
  await held.release();
  expect(await paying).toBe(100);
});

test('a payment is not made without the lock', async () => {
  const busy = new LockTimeoutError('order:42', 30_000);
  await expect(locks.failNext('order:42', busy, () => orders.pay('42', 100))).rejects.toThrow(
    LockTimeoutError,
  );
  expect(await orders.pay('42', 1)).toBe(1);
});
