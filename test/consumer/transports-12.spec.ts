import { QUICK } from '../support/quick.js';
import { describeTransports } from './transports.js';

describeTransports({
  nest: '12',
  ioredis: '6',
  typescript: '6',
  graphql: '14',
  microservices: '12',
  websockets: '12',
  platformWs: '12',
});
if (!QUICK) {
  describeTransports({
    nest: '12.0.1',
    ioredis: '5.4.0',
    typescript: '6',
    graphql: '14.0.0',
    microservices: '12.0.1',
    websockets: '12.0.1',
    platformWs: '12.0.1',
  });
}
