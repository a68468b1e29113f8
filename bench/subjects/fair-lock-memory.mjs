import { built, openEngine } from './built-package.mjs';

export default {
  name: 'fair-lock-memory',
  label: "nestjs-fair-lock, store 'memory'",
  role: 'ours',
  fair: true,
  queues: true,
  tellsQueued: true,
  commands: [],
  setUp: "store: 'memory', all options at their defaults, a finite waitTime",

  async open() {
    const { MemoryLockStore } = await built('stores/memory/memory-lock-store.js');
    return openEngine(new MemoryLockStore());
  },
};
