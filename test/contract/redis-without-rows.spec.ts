import { describeLockStore } from './lock-store.contract.js';
import { capabilities, redisLineWithoutRows } from './redis.line.js';

describeLockStore('redis, a hold for each request', redisLineWithoutRows(), capabilities);
