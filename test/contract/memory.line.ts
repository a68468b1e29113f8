import { MemoryLockStore } from '../../lib/stores/memory/memory-lock-store.js';
import { type Capabilities, type StoreFactory } from './store-under-test.js';

export const capabilities: Capabilities = {
  fencing: true,
  sharing: true,
  severalClients: false,
  leases: false,
  waiterLabels: true,
  runs: false,
  knowsOthers: true,
  fixedLeasesLearn: true,
  refusedNames: undefined,
  sharedLines: undefined,
};

export const memoryLine: StoreFactory = () => new MemoryLockStore();
