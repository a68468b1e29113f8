import 'reflect-metadata';
import { Controller, createParamDecorator, UseInterceptors } from '@nestjs/common';
import { isOfListeners } from './listener-metadata.js';

/** A decorator of a class, as Nest exports them. */
type DecoratorOfClass = (target: new () => unknown) => unknown;

/**
 * The metadata keys that a decorator of Nest sets on a class. Nest exports its decorators but not the names of these keys,
 * so the decorator is applied to a class of our own to read them.
 */
function metadataKeysOf(decorator: DecoratorOfClass): unknown[] {
  class Probe {}
  decorator(Probe);
  return Reflect.getMetadataKeys(Probe) as unknown[];
}

/** The list that a decorator such as `@UseFilters` keeps for a class: read it, or put `first` in front of it. */
export class ListOfClass {
  readonly key: unknown;

  constructor(decorator: DecoratorOfClass) {
    [this.key] = metadataKeysOf(decorator);
  }

  of(target: object): readonly unknown[] {
    const list: unknown = Reflect.getMetadata(this.key, target);
    return Array.isArray(list) ? list : [];
  }

  /** No effect where the list has `first` already. */
  prepend(target: object, first: unknown): void {
    const list = this.of(target);
    if (!list.includes(first)) Reflect.defineMetadata(this.key, [first, ...list], target);
  }
}

/** The interceptors of a class or a method. */
export const interceptorsOf = new ListOfClass(UseInterceptors({ intercept: (_, next) => next.handle() }));

/** The metadata key for parameters that `@Param()`, `@Body()`, `@Payload()`, `@Args()` … fill, read from a probe class. */
const PARAMETERS: unknown = (() => {
  class Probe {}
  createParamDecorator(() => undefined)()(Probe.prototype, 'handler', 0);
  return Reflect.getMetadataKeys(Probe, 'handler')[0] as unknown;
})();

/** Whether a class has that decorator, by the metadata keys that it sets. */
export function markedBy(decorator: DecoratorOfClass): (metatype: object) => boolean {
  const keys = metadataKeysOf(decorator);
  return (metatype) => keys.every((key) => Reflect.hasMetadata(key, metatype));
}

/** Which classes have handlers among their methods. An application that is prepared for gateways adds theirs. */
export const handlerClasses = { controllers: markedBy(Controller()), gateways: (_: object) => false };

/**
 * Whether Nest calls the method with values of a request: it has decorated parameters, or it is in a class of handlers and has metadata,
 * such as the pattern of a message, whose handlers need no decorated parameters. That of a listener or a cron job does not count.
 */
export function isHandler(target: object, property: string | symbol): boolean {
  const { constructor } = target;
  if (Reflect.hasMetadata(PARAMETERS, constructor, property)) return true;
  if (!handlerClasses.controllers(constructor) && !handlerClasses.gateways(constructor)) return false;
  const handler: unknown = Object.getOwnPropertyDescriptor(target, property)?.value;
  return typeof handler === 'function' && isRouted(handler);
}

/** Whether a method has metadata as those of a route or a message pattern. `@FairLocked` itself adds an interceptor to every method. */
export function isRouted(method: object): boolean {
  const keys = Reflect.getMetadataKeys(method) as unknown[];
  return keys.some((key) => key !== interceptorsOf.key && !isOfListeners(key));
}
