import { EventEmitter } from 'node:events';
import { type ExecutionContext } from '@nestjs/common';
import { defer, lastValueFrom, of } from 'rxjs';
import { currentRequestSignal } from '../../../lib/core/request-scope.js';
import { WsRequestScope } from '../../../lib/nest/ws-request-scope.js';

/** The signal that the handler of a message of `client` runs with. */
async function signalFor(client: object, enabled = true, type = 'ws'): Promise<AbortSignal | undefined> {
  const context = { getType: () => type, switchToWs: () => ({ getClient: () => client }) };
  const next = { handle: () => defer(() => of(currentRequestSignal())) };
  return lastValueFrom(
    new WsRequestScope(enabled).intercept(context as unknown as ExecutionContext, next),
  ) as Promise<AbortSignal | undefined>;
}

describe('the scope of a WebSocket message', () => {
  test('ends with the connection of ws', async () => {
    const client = Object.assign(new EventEmitter(), { readyState: 1 });
    const signal = await signalFor(client);
    expect(signal?.aborted).toBe(false);
    client.emit('close');
    expect(signal?.aborted).toBe(true);
  });

  test('ends with the connection of socket.io, where close is a message like any other', async () => {
    const client = Object.assign(new EventEmitter(), { connected: true });
    const signal = await signalFor(client);
    client.emit('close');
    expect(signal?.aborted).toBe(false);
    client.emit('disconnect');
    expect(signal?.aborted).toBe(true);
  });

  test('is one a connection, with one listener', async () => {
    const client = Object.assign(new EventEmitter(), { readyState: 1 });
    expect(await signalFor(client)).toBe(await signalFor(client));
    expect(client.listenerCount('close')).toBe(1);
  });

  test.each([{ readyState: 2 }, { readyState: 3 }, { connected: false }])(
    'is over at once where the client has gone already: %p',
    async (state) => {
      expect((await signalFor(Object.assign(new EventEmitter(), state)))?.aborted).toBe(true);
    },
  );

  test('is not there when switched off, or for what is no WebSocket message', async () => {
    const client = Object.assign(new EventEmitter(), { readyState: 1 });
    expect(await signalFor(client, false)).toBeUndefined();
    expect(await signalFor(client, true, 'http')).toBeUndefined();
    expect(client.listenerCount('close')).toBe(0);
  });
});
