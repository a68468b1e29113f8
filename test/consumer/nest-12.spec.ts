import { describeConsumer } from './consumer.js';
import { Installation } from './installation.js';

describe('with the newest Nest and ioredis', () => {
  describeConsumer({ nest: '12', ioredis: '6', typescript: '6' }, new Installation());
});
