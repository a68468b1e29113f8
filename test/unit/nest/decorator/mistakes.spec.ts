/** Every error that people make names a section of docs/errors.md, and that section shows what the error says. */
import { readFileSync } from 'node:fs';
import { Injectable, Module, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  FairLocked,
  type FairLockError,
  FairLockModule,
  FairLockService,
  LockConfigurationError,
  LockTimeoutError,
} from 'nestjs-fair-lock';
import { of } from 'rxjs';
import { see, SECTIONS } from '../../../../lib/core/errors/mistakes.js';
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
  'A synchronous method': () =>
    decorate(OrdersService.prototype, 'total', function* () {
      yield 1;
    }),
  'A stream that is not declared': () => call(async (orders) => orders.feed()),
  'A value that makes no key': () => call((orders) => orders.pay({ id: '42' })),
  'A static method, an accessor or a class': () => decorate(OrdersService, 'pay', async () => {}),
  'Decorators of the ECMAScript standard': async () =>
    (FairLocked('order') as unknown as (method: unknown, context: object) => void)(async () => {}, {
      kind: 'method',
    }),
  'A method called on an object that Nest did not create': pay,
  'A hold used after its end': () =>
    call(async ({ locks }) => (await locks.withLock('order:42', (lock) => lock)).assertHeld()),
};

describe('The page "Mistakes and their errors"', () => {
  const sections = new Map(
    page
      .split(/^## /m)
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf('\n')), section] as const),
  );

  it.each(Object.entries(MISTAKES))('shows what is said of: %s', async (heading, make) => {
    const error = await make().then(
      () => undefined,
      (error: unknown) => error as FairLockError,
    );
    const [sentence = '', reference] = error?.details.split(/ (?=See \S+\.md#\S+\.$)/) ?? [];
    expect(` ${reference}`).toBe(see(heading as keyof typeof SECTIONS));
    expect((sections.get(heading) ?? '').replaceAll('\n', ' ')).toContain(sentence);
  });
});

describe('An error of configuration or use', () => {
  const packed = (JSON.parse(read('package.json')) as { files: string[] }).files;

  it.each(Object.keys(SECTIONS) as (keyof typeof SECTIONS)[])(
    'leads to a section that is packed: %s',
    (heading) => {
      const [, path = '', anchor] =
        /^ See nestjs-fair-lock\/(docs\/[\w-]+\.md)#(.*)\.$/.exec(see(heading)) ?? [];
      expect(packed).toContain(path);
      const headings = read(path).match(/^#+ .*$/gm) ?? [];
      expect(headings.map((each) => each.replace(/^#+ /, ''))).toContain(heading);
      expect(anchor).toBe(
        heading
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N}\s-]/gu, '')
          .replaceAll(/\s/g, '-'),
      );
    },
  );

  it('leads to a section also where it names none itself', () => {
    const error = new LockConfigurationError('withLock needs a function.');
    expect(error.message).toBe(`withLock needs a function.${see('Errors')}`);
    expect(error.details).toBe(error.message);
  });

  it('names the key where it is logged as a text, and not in its message', () => {
    const error = new LockTimeoutError('order:42', 1_000);
    expect(String(error)).toContain('"order:42"');
    expect(error.message).not.toContain('order:42');
  });
});
