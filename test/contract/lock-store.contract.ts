import { Bench, type Capabilities, type StoreFactory } from './store-under-test.js';
import { describeClosing } from './closing.contract.js';
import { describeInspect } from './inspect.contract.js';
import { describeKeeping } from './keeping.contract.js';
import { describeLease } from './lease.contract.js';
import { describeLeaving } from './leaving.contract.js';
import { describeNames } from './names.contract.js';
import { describeOrder } from './order.contract.js';
import { describeSharing } from './sharing.contract.js';
import { describeSharingEnds } from './sharing-ends.contract.js';

/**
 * What every store promises. Each store has a spec file of its own that runs this.
 *
 * An unhandled rejection during a test fails that test: Jest sees to it. (It hands tests a copy of `process`, on
 * which a listener of our own would never be called.)
 */
export function describeLockStore(name: string, factory: StoreFactory, capabilities: Capabilities): void {
  describe(`the ${name} store`, () => {
    const bench = new Bench(factory, capabilities);
    beforeAll(() => bench.open());
    afterAll(() => bench.close());
    // Also lets an unhandled rejection come up while Jest still counts it to the test that caused it.
    afterEach(() => bench.expectNothingLeft());

    describe('order', () => describeOrder(bench));
    describe('leaving the line', () => describeLeaving(bench));
    describe('leases and releases', () => describeLease(bench));
    describe('keeping', () => describeKeeping(bench));
    if (capabilities.sharing) describe('sharing', () => describeSharing(bench));
    if (capabilities.sharing) describe('the end of sharing', () => describeSharingEnds(bench));
    describe('inspection', () => describeInspect(bench));
    describe('names', () => describeNames(bench));
    describe('closing', () => describeClosing(bench));
  });
}
