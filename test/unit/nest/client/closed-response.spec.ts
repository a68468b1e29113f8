import { type IncomingMessage, ServerResponse } from 'node:http';
import { isCutOff, onClosed } from '../../../../lib/nest/client/closed-response.js';

test.each([{}, { socket: {} }, undefined])(
  'a response of the request %j, as adapters make it for what is no server, is not cut off, and tells its end',
  (request) => {
    const response = new ServerResponse((request ?? {}) as IncomingMessage);
    if (!request) Object.defineProperty(response, 'req', { value: undefined });
    expect(isCutOff(response)).toBe(false);
    let ends = 0;
    onClosed(response, () => ends++);
    response.emit('close');
    expect(ends).toBe(1);
  },
);
