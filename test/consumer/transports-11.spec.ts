import { describeTransports } from './transports.js';

describeTransports({
  nest: '11.0.0',
  ioredis: '5.4.0',
  typescript: '5.7',
  graphql: '13.0.0',
  microservices: '11.0.0',
  websockets: '11.0.0',
  platformWs: '11.0.5', // the oldest of that major
});
