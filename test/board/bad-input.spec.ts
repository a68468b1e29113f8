import { type INestApplication } from '@nestjs/common';
import { type RedisServer, startRedisServer } from '../support/redis.js';
import { realBoard } from './board-app.js';

let server: RedisServer;
let app: INestApplication;
let url: string;

beforeAll(async () => {
  server = await startRedisServer();
  ({ app } = await realBoard({ redis: server.url }));
  url = `${await app.getUrl()}/locks`;
});
afterAll(async () => {
  await app.close();
  await server.stop();
});

async function forceRelease(key: string, token: number): Promise<{ status: number; message: string }> {
  const response = await fetch(`${url}/force-release`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-fair-lock-board': 'force-release' },
    body: JSON.stringify({ key, token }),
  });
  const { message } = (await response.json()) as { message: string };
  return { status: response.status, message };
}

/** The first event of this name on the stream of one key. */
async function firstEvent(key: string, event: string): Promise<unknown> {
  const response = await fetch(`${url}/events?key=${encodeURIComponent(key)}`);
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const [, json] = new RegExp(`event: ${event}\ndata: (.*)\n\n`).exec(text) ?? [];
    if (json !== undefined) return JSON.parse(json) as unknown;
  }
  throw new Error(`The stream ended without an event ${event}.`);
}

test('a lock that is not held cannot be taken from a holder', async () => {
  expect(await forceRelease('unknown', 7)).toEqual({ status: 409, message: expect.any(String) as string });
});

test('a token that cannot be one is refused as bad input, with the reason', async () => {
  expect(await forceRelease('order:1', -1)).toEqual({
    status: 400,
    message: expect.stringContaining('must be a fencing token') as string,
  });
});

test('the line of an unknown key is free', async () => {
  expect(await firstEvent('unknown', 'line')).toEqual({ key: 'unknown', queueLength: 0, waiters: [] });
});

test('while Redis is away, the page and a forced release are given the reason', async () => {
  await server.stop();
  expect(await firstEvent('order:1', 'trouble')).toEqual({
    message: expect.stringMatching(/Redis/) as string,
  });
  expect(await forceRelease('order:1', 1)).toEqual({
    status: 503,
    message: expect.stringMatching(/Redis/) as string,
  });
});
