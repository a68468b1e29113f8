import { describeLockStore } from './lock-store.contract.js';
import { capabilities, redissonLine } from './redisson.line.js';

describeLockStore('redisson', redissonLine(1), capabilities);
