import 'reflect-metadata';
import { transformSync } from '@swc/core';
import { FairLocked } from 'nestjs-fair-lock';
import { LockConfigurationError } from '../../../../lib/core/errors/errors.js';
import { methodKind } from '../../../../lib/nest/decorator/method-kind.js';

/** A class whose method `run` has the given return type in its metadata, as a compiler writes it. */
function returning(type: unknown): object {
  class Subject {
    run(): void {}
  }
  Reflect.defineMetadata('design:returntype', type, Subject.prototype, 'run');
  return Subject.prototype;
}

describe('what kind of method is decorated', () => {
  const kind = (type: unknown, declared?: 'observable'): string =>
    methodKind(returning(type), 'run', () => undefined, declared, 'Subject.run');

  test('a return type that was imported as a type only tells nothing: what the decorator says counts', () => {
    expect(kind(Function, 'observable')).toBe('observable');
    expect(kind(Object, 'observable')).toBe('observable');
  });

  test('a return type that is a plain value is refused as synchronous', () => {
    expect(() => kind(String)).toThrow(LockConfigurationError);
  });
});

describe('an async generator that swc compiled for es2017, which has none', () => {
  /** The class that is exported, compiled to CommonJS. */
  function compiled(body: string): new () => { run: () => unknown } {
    const { code } = transformSync(
      `import { FairLocked } from 'nestjs-fair-lock'; export class Feed { ${body} }`,
      {
        swcrc: false,
        jsc: {
          target: 'es2017',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
        },
        module: { type: 'commonjs' },
      },
    );
    const exported = {} as { Feed: new () => { run: () => unknown } };
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the code is the compiler's
    const run = new Function('exports', 'require', code) as (exports: object, require: () => object) => void;
    run(exported, () => ({ FairLocked }));
    return exported.Feed;
  }

  test('is locked as one if its decorator says so, though the metadata speak of a promise', () => {
    const Feed = compiled(`@FairLocked('feed', { returns: 'iterable' }) async *run() { yield 1; }`);
    expect(Reflect.getMetadata('design:returntype', Feed.prototype as object, 'run')).toBe(Promise);
    expect(new Feed().run()).toHaveProperty('next');
  });
});
