import { clusterNode } from '../../../lib/cli/call/locks.js';

test.each([
  ['redis://web-1', { host: 'web-1', port: 6_379 }],
  ['redis://127.0.0.1:7001/0', { host: '127.0.0.1', port: 7_001 }],
  ['redis://[::1]:7001', { host: '::1', port: 7_001 }],
  ['rediss://[fe80::1]', { host: 'fe80::1', port: 6_379 }],
])('--cluster connects to the node at %s', (address, node) => {
  expect(clusterNode(address).node).toEqual(node);
});

test('--cluster decodes user and password', () => {
  expect(clusterNode('rediss://a%40b:p%25%2F@web-1').redisOptions).toEqual({
    username: 'a@b',
    password: 'p%/',
    tls: {},
  });
});
