import { Test, type TestingModule } from '@nestjs/testing';
import { FairLockProbe, FairLockTestingModule } from 'nestjs-fair-lock/testing';
import { MemoryShopData } from '../data/memory-shop-data.js';
import { ShopData } from '../data/shop-data.js';
import { validateEnvironment } from '../environment.js';
import { JournalModule } from '../journal.js';
import { Settings } from '../settings.js';
import { ImmediateParcels, Parcels } from '../shipping/parcels.js';
import { ShippingService } from '../shipping/shipping.service.js';
import { StockService } from '../stock/stock.service.js';
import { Order } from './order.js';
import { OrdersService } from './orders.service.js';
import { OutboxRelay } from './outbox-relay.js';

let testing: TestingModule;
let data: ShopData;
let relay: OutboxRelay;

beforeEach(async () => {
  testing = await Test.createTestingModule({
    imports: [FairLockTestingModule.forRoot(), JournalModule],
    providers: [
      OrdersService,
      OutboxRelay,
      StockService,
      ShippingService,
      { provide: Parcels, useClass: ImmediateParcels },
      { provide: ShopData, useClass: MemoryShopData },
      { provide: Settings, useValue: new Settings(validateEnvironment({ PACKING_TIME: '1' })) },
    ],
  }).compile();
  await testing.init();
  data = testing.get(ShopData);
  relay = testing.get(OutboxRelay);
  await testing.get(StockService).add('lamp', 3);
  await testing.get(OrdersService).place(new Order('lamp', 2, 'c-17'));
});

afterEach(() => testing.close());

test('an order is shipped by the relay, not by the request', async () => {
  expect(await data.read('shipped:c-17')).toBe(0);
  await relay.relay();
  expect(await data.read('shipped:c-17')).toBe(2);
  expect(await data.outbox()).toEqual([]);
});

test('a parcel that a relay added before it crashed is shipped once', async () => {
  data.handedOver = () => Promise.reject(new Error('crashed'));
  await expect(relay.relay()).rejects.toThrow('crashed');
  Reflect.deleteProperty(data, 'handedOver');
  expect(await data.outbox()).toHaveLength(1);

  await relay.relay();
  expect(await data.read('shipped:c-17')).toBe(2);
  expect(await data.outbox()).toEqual([]);
});

test('while one instance relays, the others skip', async () => {
  await using elsewhere = await testing.get(FairLockProbe).hold('job:outbox');
  await relay.relay();
  expect(await data.read('shipped:c-17')).toBe(0);
  await elsewhere.release();
});
