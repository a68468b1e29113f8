import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { warnIfSignalIsUnheard } from '../../../../lib/nest/module/unheard-signal.js';

describe('an application that is not told of SIGTERM', () => {
  const { NODE_ENV } = process.env;
  const listen = (): void => undefined;
  let warnings: string[];
  let logger: Logger;

  beforeEach(() => {
    process.env.NODE_ENV = 'production';
    process.removeAllListeners('SIGTERM');
    jest.useFakeTimers();
    warnings = [];
    logger = Object.assign(new Logger('FairLock'), { warn: (message: string) => warnings.push(message) });
  });

  afterEach(() => {
    jest.useRealTimers();
    process.env.NODE_ENV = NODE_ENV;
    process.removeListener('SIGTERM', listen);
  });

  test('warns once, ten seconds after its start, with the call and what its absence costs', () => {
    warnIfSignalIsUnheard(logger);
    jest.advanceTimersByTime(9_999);
    expect(warnings).toEqual([]);
    jest.advanceTimersByTime(60_000);
    expect(warnings).toEqual([
      expect.stringMatching(/each deployment .* without releasing its locks.* app\.enableShutdownHooks\(\)/),
    ]);
  });

  test('says nothing if something listens by then', () => {
    warnIfSignalIsUnheard(logger);
    process.on('SIGTERM', listen);
    jest.advanceTimersByTime(60_000);
    expect(warnings).toEqual([]);
  });

  test('says nothing if it has been closed', () => {
    const end = warnIfSignalIsUnheard(logger);
    end();
    jest.advanceTimersByTime(60_000);
    expect(warnings).toEqual([]);
  });

  test('says nothing in a test', () => {
    process.env.NODE_ENV = 'test';
    warnIfSignalIsUnheard(logger);
    jest.advanceTimersByTime(60_000);
    expect(warnings).toEqual([]);
  });
});
