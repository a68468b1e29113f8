import { MemoryLockStore } from '../../lib/stores/memory/memory-lock-store.js';
import { describeModel } from './model.contract.js';

describeModel(
  'memory',
  Array.from({ length: 3 }, () => () => new MemoryLockStore()),
  {
    fencing: true,
    severalClients: false,
    lease: Infinity,
    waiterLabels: true,
    runs: false,
    knowsOthers: true,
    fixedLeasesLearn: true,
    refusedNames: undefined,
    sharedLines: undefined,
  },
  300,
);
