import { describeModel } from './model.contract.js';
import { capabilities, redisLine } from './redis.line.js';

describeModel('redis', redisLine(), capabilities, 60);
