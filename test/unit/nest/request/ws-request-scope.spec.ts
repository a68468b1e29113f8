import { EventEmitter } from 'node:events';
import { type ExecutionContext } from '@nestjs/common';
import { defer, lastValueFrom, of } from 'rxjs';
import { currentClient, type RequestClient } from '../../../../lib/core/runtime/async-context.js';
import { WsRequestScope } from '../../../../lib/nest/request/ws-request-scope.js';

/** Runs `handler` as that of a message of `client`. */
async function handle<T>(client: object, handler: (message: RequestClient) => T): Promise<T> {
  const context = { switchToWs: () => ({ getClient: () => client }) };
  const next = { handle: () => defer(() => of(handler(currentClient()!))) };
  const answer = new WsRequestScope().intercept(context as unknown as ExecutionContext, next);
  return lastValueFrom(answer) as Promise<T>;
}

const wsClient = () => Object.assign(new EventEmitter(), { readyState: 1 });

describe('the scope of a WebSocket message', () => {
  test('ends with the connection of ws', async () => {
    const client = wsClient();
    await handle(client, (message) => {
      const signal = message.leaving();
      expect([message.awaitsAnswer, signal.aborted]).toEqual([true, false]);
      client.emit('close');
      expect(signal.reason).toMatchObject({ name: 'ClientGoneError' });
    });
  });

  test('ends with the connection of socket.io, where close is a message like any other', async () => {
    const client = Object.assign(new EventEmitter(), { connected: true });
    await handle(client, (message) => {
      const signal = message.leaving();
      client.emit('close');
      expect(signal.aborted).toBe(false);
      client.emit('disconnect');
      expect(signal.aborted).toBe(true);
    });
  });

  test('listens to nothing before a request waits, and then once a connection', async () => {
    const client = wsClient();
    await handle(client, (first) => {
      expect(client.listenerCount('close')).toBe(0);
      return handle(client, (second) => [first.leaving(), second.leaving()]);
    });
    expect(client.listenerCount('close')).toBe(1);
  });

  test('ends with its handler: what that left behind is not tied to the connection', async () => {
    const client = wsClient();
    const [message, signal] = await handle(client, (own) => [own, own.leaving()] as const);
    expect(message.awaitsAnswer).toBe(false);
    client.emit('close');
    expect(signal.aborted).toBe(false);
  });

  test('of a client of another adapter, which tells nothing of its end, ends with its handler', async () => {
    const [message, signal] = await handle({}, (own) => [own, own.leaving()] as const);
    expect([message.awaitsAnswer, signal.aborted]).toEqual([false, false]);
  });

  test.each([{ readyState: 2 }, { readyState: 3 }, { connected: false }])(
    'lets nothing wait that is asked for after the client has gone: %p',
    async (state) => {
      const client = wsClient();
      await handle(client, (message) => {
        Object.assign(client, { readyState: undefined }, state);
        expect([message.awaitsAnswer, message.leaving().aborted]).toEqual([true, true]);
      });
    },
  );
});
