import { EventEmitter } from 'node:events';
import { type ArgumentsHost } from '@nestjs/common';
import { type Client, clientOf } from '../../../../lib/nest/client/client-of.js';

const clientOfMessage = (client: object): Client =>
  clientOf({
    getType: () => 'ws',
    switchToWs: () => ({ getClient: () => client }),
  } as unknown as ArgumentsHost)!;

const wsClient = () => Object.assign(new EventEmitter(), { readyState: 1 });

describe('the client of a WebSocket message', () => {
  test('ends with the connection of socket.io, where close is a message like any other', () => {
    const client = Object.assign(new EventEmitter(), { connected: true });
    const ended = clientOfMessage(client).ended();
    client.emit('close');
    expect(ended.hasCome).toBe(false);
    client.emit('disconnect');
    expect(ended.hasCome).toBe(true);
  });

  test('has one listener, and that only from the first wait of the connection on', () => {
    const client = wsClient();
    const messages = [clientOfMessage(client), clientOfMessage(client)];
    expect(client.listenerCount('close')).toBe(0);
    for (const message of messages) message.ended();
    expect(client.listenerCount('close')).toBe(1);
  });

  test('of another adapter, which tells nothing of its end, does not end', () => {
    const message = clientOfMessage({});
    expect([message.hasGone(), message.ended().hasCome]).toEqual([false, false]);
  });

  test.each([{ readyState: 2 }, { readyState: 3 }, { connected: false }])('has gone: %p', (state) => {
    const message = clientOfMessage(Object.assign(new EventEmitter(), state));
    expect([message.hasGone(), message.ended().hasCome]).toEqual([true, true]);
  });
});

describe('of GraphQL', () => {
  const response = Object.assign(new EventEmitter(), { writableEnded: false, destroyed: false });
  const hostWith = (context: unknown): ArgumentsHost =>
    ({ getType: () => 'graphql', getArgs: () => [{}, {}, context, {}] }) as unknown as ArgumentsHost;

  test.each([
    ['Apollo on Express', { req: {}, res: response }],
    ['Apollo on Fastify', { req: {}, res: { raw: response } }],
    ['Mercurius', { reply: { raw: response } }],
    ['a context of one field', { req: { res: response } }],
  ])('the client is that of the response which %s puts into the context', (_, context) => {
    response.destroyed = true;
    expect(clientOf(hostWith(context))?.hasGone()).toBe(true);
  });

  test.each([undefined, {}, { req: {}, res: {} }])(
    'a context without a response (%j) has no client',
    (context) => {
      expect(clientOf(hostWith(context))).toBeUndefined();
    },
  );
});
