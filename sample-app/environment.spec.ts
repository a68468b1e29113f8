import { validateEnvironment } from './environment.js';

test('an empty environment is usable', () => {
  expect(validateEnvironment({})).toMatchObject({ PORT: 3_000, STORE: 'redis', LEASE: 30_000 });
});

test.each([
  ['PORT', 'eighty'],
  ['STORE', 'disk'],
  ['REDIS_URL', 'localhost:6379'],
  ['NAMESPACE', 'a{b}'],
  ['LEASE', '-1'],
])('%s=%s is refused, by its name', (name, value) => {
  expect(() => validateEnvironment({ [name]: value })).toThrow(name);
});

test('a refusal does not repeat a password', () => {
  const REDIS_URL = 'http://:secret@cache';
  expect(() => validateEnvironment({ REDIS_URL })).toThrow(/^(?!.*secret)/s);
});
