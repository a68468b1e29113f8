import { type ArgumentsHost, Logger } from '@nestjs/common';
import { jest } from '@jest/globals';
import { ClientGoneError } from '../../../../lib/core/errors/errors.js';
import {
  type FairLockError,
  FairLockFilter,
  LockAbortedError,
  LockConfigurationError,
  LockHolderChangedError,
  LockKeyError,
  LockLostError,
  LockQueueFullError,
  LockShuttingDownError,
  LockStoreUnavailableError,
  LockTimeoutError,
} from 'nestjs-fair-lock';
import { status } from '@grpc/grpc-js';
import { firstValueFrom, type Observable } from 'rxjs';

const host = (type: string, target: object, args: unknown[] = []): ArgumentsHost =>
  ({
    getType: () => type,
    getArgs: () => args,
    switchToHttp: () => ({ getResponse: () => target }),
    switchToWs: () => ({ getClient: () => target, getPattern: () => 'pay', getData: () => args[1] }),
  }) as unknown as ArgumentsHost;

describe('the filter', () => {
  let logged: jest.SpiedFunction<Logger['error']>;
  beforeEach(() => {
    logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  });
  afterEach(() => logged.mockRestore());

  const rpc = async (error: FairLockError) => {
    const answer = new FairLockFilter().catch(error, host('rpc', {})) as Observable<never>;
    return firstValueFrom(answer).then(
      () => 'no error',
      (body: unknown) => body,
    );
  };

  test('logs an unreachable store once for each cause, not for each request, and each lost lock', () => {
    const filter = new FairLockFilter();
    const errors = [
      ...Array.from({ length: 5 }, () => new LockStoreUnavailableError('unreachable', 'It is down.')),
      new LockStoreUnavailableError('not-permitted', 'It refuses.'),
      new LockLostError('a', 'why'),
      new LockLostError('b', 'why'),
    ];
    for (const error of errors)
      (filter.catch(error, host('rpc', {})) as Observable<never>).subscribe({ error: () => undefined });
    expect(logged.mock.calls.map(([line]) => String(line).slice(0, 31))).toEqual([
      'STORE_UNAVAILABLE: It is down. ',
      'STORE_UNAVAILABLE: It refuses. ',
      'LOST: The lock "a" was lost: wh',
      'LOST: The lock "b" was lost: wh',
    ]);
  });

  test.each([
    [new LockTimeoutError('secret', 5, { holder: 'web-1/4711/Pay.pay' }), 423, 'WAIT_TIMEOUT', 1, false],
    [new LockQueueFullError('secret', 5), 503, 'QUEUE_FULL', 1, false],
    [new LockShuttingDownError('secret'), 503, 'SHUTTING_DOWN', 1, false],
    [new LockStoreUnavailableError('timeout', 'secret'), 503, 'STORE_UNAVAILABLE', 1, true],
    [new LockLostError('secret', 'why'), 500, 'LOST', undefined, true],
    [new LockKeyError('secret'), 500, 'KEY', undefined, true],
    [new LockConfigurationError('secret'), 500, 'CONFIGURATION', undefined, true],
    [new LockAbortedError('secret', 'reason'), 503, 'ABORTED', 1, false],
    [new LockKeyError('secret', { status: 400, message: 'No key.' }), 400, 'KEY', undefined, false],
  ])(
    'tells the client of %s no more than it needs, and the operator what he needs',
    async (error, statusCode, code, retryAfter, isLogged) => {
      const body = (await rpc(error)) as { message: string };
      expect(body).toEqual({
        status: 'error',
        statusCode,
        code,
        message: expect.any(String) as string,
        ...(retryAfter !== undefined && { retryAfter }),
      });
      expect(body.message).not.toBe('');
      expect(body.message).not.toMatch(/secret|4711/);
      expect(logged.mock.calls).toEqual(isLogged ? [[`${code}: ${error.details}`, error.stack]] : []);
    },
  );

  test.each([
    [new LockTimeoutError('x', 5), status.ABORTED],
    [new LockHolderChangedError('x', 1, 2), status.ABORTED],
    [new LockQueueFullError('x', 5), status.UNAVAILABLE],
    [new LockAbortedError('x', 'reason'), status.UNAVAILABLE],
    [new LockKeyError('x', { status: 400, message: 'No key.' }), status.INVALID_ARGUMENT],
    [new LockLostError('x', 'why'), status.INTERNAL],
  ])('answers a gRPC call that failed with %s by the status code %i', async (error, code) => {
    const call = { sendMetadata: () => undefined };
    const answer = new FairLockFilter().catch(error, host('rpc', {}, [{}, {}, call])) as Observable<never>;
    await expect(firstValueFrom(answer)).rejects.toMatchObject({ code });
  });

  test.each([
    ['that has left', true, status.CANCELLED, 0],
    ['that is still there, and logs once what has ended its wait', false, status.UNAVAILABLE, 1],
  ])('tells a gRPC client %s', async (_, cancelled, code, lines) => {
    const call = { sendMetadata: () => undefined, cancelled };
    const filter = new FairLockFilter();
    for (let n = 0; n < 3; n++) {
      const error = new LockAbortedError('x', new ClientGoneError());
      const answer = filter.catch(error, host('rpc', {}, [{}, {}, call])) as Observable<never>;
      await expect(firstValueFrom(answer)).rejects.toMatchObject({ code });
    }
    expect(logged).toHaveBeenCalledTimes(lines);
  });

  test.each([undefined, {}, 'a message'])('throws the error where there is no response: %j', (nothing) => {
    const error = new LockTimeoutError('x', 0);
    expect(() => new FairLockFilter().catch(error, host('http', nothing as object))).toThrow(error);
  });

  test('ends an HTTP response that has begun, because its status can no longer change', () => {
    const response = { headersSent: true, end: jest.fn(), status: jest.fn() };
    new FairLockFilter().catch(new LockShuttingDownError('x'), host('http', response));
    expect(response.end).toHaveBeenCalledTimes(1);
    expect(response.status).not.toHaveBeenCalled();
  });

  test('emits to a client of socket.io', () => {
    const client = { emit: jest.fn(), send: jest.fn() };
    new FairLockFilter().catch(new LockTimeoutError('x', 0), host('ws', client, [client, { id: 7 }]));
    const cause = { pattern: 'pay', data: { id: 7 } };
    expect(client.emit).toHaveBeenCalledWith(
      'exception',
      expect.objectContaining({ code: 'WAIT_TIMEOUT', cause }),
    );
    expect(client.send).not.toHaveBeenCalled();
  });
});
