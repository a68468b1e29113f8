import { QUICK } from '../support/quick.js';
import { describeConsumer } from './consumer.js';

const OLDEST_IOREDIS = '5.4.0';

describeConsumer({ nest: '12', ioredis: '6', typescript: '6' });
if (!QUICK) {
  describeConsumer({ nest: '12', ioredis: OLDEST_IOREDIS, typescript: '6' });
  describeConsumer({ nest: '12.0.1', ioredis: OLDEST_IOREDIS, typescript: '6' });
  describeConsumer({ nest: '12.0.1', ioredis: '6', typescript: '6' });
}
