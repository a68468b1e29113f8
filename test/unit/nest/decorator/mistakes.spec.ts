/** docs/errors.md shows what the errors of common mistakes say. */
import { readFileSync } from 'node:fs';
import { Injectable, Module, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { FairLocked, type FairLockError, FairLockModule, FairLockService } from 'nestjs-fair-lock';
import { of } from 'rxjs';
import { Locked, nestWith } from '../nest.js';

const page = readFileSync(new URL('../../../../docs/errors.md', import.meta.url), 'utf8');

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
    // The page quotes the beginning of a long one, and ends with `…` there.
    const [, quoted = ''] = /```text\n(.+)\n```/.exec(sections.get(heading) ?? '') ?? [];
    expect(quoted.endsWith(' …') ? `${sentence.slice(0, quoted.length - 1)}…` : sentence).toBe(quoted);
  });
});
