/** An error names the page where there is more to read, and docs/errors.md shows what the errors of common mistakes say. */
import { readFileSync } from 'node:fs';
import { Injectable, Module, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  FairLocked,
  type FairLockError,
  FairLockModule,
  FairLockService,
  LockAbortedError,
  LockConfigurationError,
  LockDeadlockError,
  LockHolderChangedError,
  LockKeyError,
  LockLostError,
  LockNotHeldError,
  LockNotReplicatedError,
  LockProtocolError,
  LockQueueFullError,
  LockShuttingDownError,
  LockStoreUnavailableError,
  LockTimeoutError,
} from 'nestjs-fair-lock';
import { of } from 'rxjs';
import { withPage } from '../../../../lib/core/errors/pages.js';
import { Locked, nestWith } from '../nest.js';

const read = (path: string): string => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');
const page = read('docs/errors.md');

@Injectable()
class OrdersService {
  constructor(readonly locks: FairLockService) {}

  @Locked('order:<0>')
  async pay(_id: unknown): Promise<void> {}

  // A return type would tell that it is a stream.
  @Locked('feed')
  feed() {
    return of(1) as unknown;
  }
}

const pay = async (): Promise<unknown> => new OrdersService(undefined as never).pay('42');

async function call(code: (orders: OrdersService) => Promise<unknown>): Promise<unknown> {
  const { module } = await nestWith([OrdersService]);
  try {
    return await code(module.get(OrdersService));
  } finally {
    await module.close();
  }
}

@Module({ imports: [FairLockModule.forRoot({ store: 'memory' })] })
class BillingModule {}

@Module({ imports: [BillingModule, FairLockModule.forRoot({ store: 'memory', waitTime: 5_000 })] })
class AppModule {}

const boot = async (...imports: Type[]): Promise<unknown> =>
  Test.createTestingModule({ imports })
    .setLogger({ ...console, log: () => undefined, error: () => undefined })
    .compile();

/** Decorates a member as the compiler would. */
const decorate = async (target: object, property: string, value?: unknown): Promise<void> => {
  Locked('order')(target, property, value === undefined ? (undefined as never) : { value });
};

const MISTAKES: Record<string, () => Promise<unknown>> = {
  'The module without forRoot': () => boot(FairLockModule),
  'Two registrations without a name': () => boot(AppModule),
  'A synchronous method': async () => {
    const total = (): number => 1;
    Reflect.defineMetadata('design:returntype', Number, OrdersService.prototype, 'total');
    await decorate(OrdersService.prototype, 'total', total);
  },
  'A stream that is not declared': () => call(async (orders) => orders.feed()),
  'A result that works after the release': () =>
    call(async ({ locks }) => locks.withLock('order:42', () => of(1))),
  'A key that is undefined': async () =>
    Locked(undefined)(OrdersService.prototype, 'pay', { value: async () => {} }),
  'A value that makes no key': () => call((orders) => orders.pay({ id: '42' })),
  'A static method, an accessor or a class': () => decorate(OrdersService, 'pay', async () => {}),
  'Decorators of the ECMAScript standard': async () =>
    (FairLocked('order') as unknown as (method: unknown, context: object) => void)(async () => {}, {
      kind: 'method',
    }),
  'A method called on an object that Nest did not create': pay,
  'A wait that could never end': () =>
    call(({ locks }) =>
      locks.withLock('order:42', () => locks.withLock('order:42', pay, { reentrant: false })),
    ),
  'A hold used after its end': () =>
    call(async ({ locks }) => (await locks.withLock('order:42', (lock) => lock)).assertHeld()),
};

describe('The page of errors', () => {
  const sections = new Map(
    page
      .split(/^### /m)
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf('\n')), section] as const),
  );

  it.each(Object.entries(MISTAKES))('shows what is said of: %s', async (heading, make) => {
    const error = await make().then(
      () => undefined,
      (error: unknown) => error as FairLockError,
    );
    const [sentence = ''] = error?.details.split(/ See nestjs-fair-lock\/docs\/[\w-]+\.md#[\w-]+\.$/) ?? [];
    expect(sentence).not.toBe('');
    expect((sections.get(heading) ?? '').replaceAll('\n', ' ')).toContain(sentence);
  });
});

describe('An error', () => {
  const { files: packed } = JSON.parse(read('package.json')) as { files: string[] };

  const ERRORS: FairLockError[] = [
    new LockAbortedError('order:42', undefined),
    new LockConfigurationError('withLock needs a function.'),
    new LockDeadlockError('order:42', 'it would wait for itself.'),
    new LockHolderChangedError('order:42', 1, 2),
    new LockKeyError('A key is missing.'),
    new LockLostError('order:42', 'it expired'),
    new LockNotHeldError('order:42'),
    new LockNotReplicatedError('order:42', 0, 1, 1_000),
    new LockProtocolError('It is in another format.'),
    new LockQueueFullError('order:42', 1),
    new LockShuttingDownError('order:42'),
    new LockStoreUnavailableError('timeout', 'Redis did not respond.'),
    new LockTimeoutError('order:42', 1_000),
  ];

  /** Their sentence says all. */
  const WITHOUT_PAGE = ['ABORTED', 'CONFIGURATION'];

  it.each(ERRORS.map((error) => [error.code, error] as const))(
    'ends with the page to read, which is packed, unless its sentence says all: %s',
    (code, { details }) => {
      const [, page] = / See nestjs-fair-lock\/(docs\/[\w-]+\.md)#[\w-]+\.$/.exec(details) ?? [];
      expect(details.includes('.md')).toBe(page !== undefined);
      expect(WITHOUT_PAGE.includes(code) ? page : packed.includes(page ?? '')).toBe(
        WITHOUT_PAGE.includes(code) ? undefined : true,
      );
    },
  );

  it('names a page only once', () => {
    const sentence = withPage('A key is missing.', 'service#acquire');
    expect(new LockKeyError(sentence).details).toBe(sentence);
  });

  it('names the key where it is logged as a text, and not in its message', () => {
    const error = new LockTimeoutError('order:42', 1_000);
    expect(String(error)).toContain('"order:42"');
    expect(error.message).not.toContain('order:42');
  });
});
