import 'reflect-metadata';
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
