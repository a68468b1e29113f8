import { Test, type TestingModule } from '@nestjs/testing';
import { FairLockProbe, FairLockTestingModule } from 'nestjs-fair-lock/testing';
import { validateEnvironment } from '../environment.js';
import { JournalModule } from '../journal.js';
import { Settings } from '../settings.js';
import { Supplier } from './supplier.js';

let testing: TestingModule;

beforeEach(async () => {
  testing = await Test.createTestingModule({
    imports: [FairLockTestingModule.forRoot(), JournalModule],
    providers: [
      Supplier,
      { provide: Settings, useValue: new Settings(validateEnvironment({ PACKING_TIME: '1' })) },
    ],
  }).compile();
  await testing.init();
});

afterEach(() => testing.close());

test('the supplier gets two calls at a time, and the others wait', async () => {
  const supplier = testing.get(Supplier);
  const products = ['lamp', 'chair', 'table'];
  await testing.get(FairLockProbe).assertAtMost(
    'supplier',
    2,
    products.map((product) => () => supplier.order(product, 1)),
  );
});
