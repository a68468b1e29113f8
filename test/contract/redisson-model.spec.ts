import { describeModel } from './model.contract.js';
import { capabilities, redissonLine } from './redisson.line.js';

describeModel('redisson', redissonLine(2), capabilities, 30);
