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
