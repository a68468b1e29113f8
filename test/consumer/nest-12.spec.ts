import { describeConsumer } from './consumer.js';

describeConsumer({ nest: '12', ioredis: '6', typescript: '6' });
