import { describeLockStore } from './lock-store.contract.js';
import { capabilities, redisLine } from './redis.line.js';

describeLockStore('redis', redisLine(), capabilities);
