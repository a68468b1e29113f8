import { describeModel } from './model.contract.js';
import { capabilities, redisRegistrations } from './redis.line.js';

describeModel('redis', redisRegistrations(), capabilities, 60);
