import { describeConsumer } from './consumer.js';

describeConsumer({ nest: '11.0.0', ioredis: '5.4.0', typescript: '5.7' });
