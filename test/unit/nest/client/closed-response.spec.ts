import { type IncomingMessage, ServerResponse } from 'node:http';
import { endOf, isCutOff } from '../../../../lib/nest/client/closed-response.js';

test.each([{}, { socket: {} }, undefined])(
  'a response of the request %j, as adapters make it for what is no server, is not cut off, and tells its end',
  (request) => {
    const response = new ServerResponse((request ?? {}) as IncomingMessage);
    if (!request) Object.defineProperty(response, 'req', { value: undefined });
    expect(isCutOff(response)).toBe(false);
    const ended = endOf(response);
    expect(ended.hasCome).toBe(false);
    response.emit('close');
    expect(ended.hasCome).toBe(true);
  },
);
