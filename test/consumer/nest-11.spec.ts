import { describeConsumer } from './consumer.js';

const OLDEST_IOREDIS = '5.4.0';

describeConsumer({ nest: '11.0.0', ioredis: OLDEST_IOREDIS, typescript: '5.7' });
describeConsumer({ nest: '11.0.0', ioredis: '6', typescript: '5.7' });
describeConsumer({ nest: '11', ioredis: OLDEST_IOREDIS, typescript: '5.9' });
describeConsumer({ nest: '11', ioredis: '6', typescript: '5.9' });
