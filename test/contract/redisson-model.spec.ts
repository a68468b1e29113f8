import { describeModel } from './model.contract.js';
import { capabilities, redissonLine } from './redisson.line.js';
import { describeSections } from './sections.contract.js';

// Messages know no databases: what one registration publishes, the others receive.
describeModel('redisson', [redissonLine(2), redissonLine(14), redissonLine(15)], capabilities, 30);
describeSections('redisson', redissonLine(2), capabilities, 16);
