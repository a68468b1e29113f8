import { describeModel } from './model.contract.js';
import { capabilities, redisLine, redisRegistrations } from './redis.line.js';
import { describeSections } from './sections.contract.js';

describeModel('redis', redisRegistrations(), capabilities, 60);
describeSections('redis', redisLine(), capabilities, 20);
