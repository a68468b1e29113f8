import { inspect, type InspectOptions } from 'node:util';

/**
 * Lets objects of the class `type` print as `name` and `facts`, whoever prints them: `console.log`, `%o`, a logger, `JSON.stringify`. Else they print
 * all that they reach: a megabyte, with the password of Redis in it.
 */
export function printAs<T extends object>(
  name: string,
  type: abstract new (...args: never[]) => T,
  facts: (object: T) => object = () => ({}),
): void {
  const define = (method: string | symbol, value: (this: T, ...args: never[]) => unknown): unknown =>
    Object.defineProperty(type.prototype, method, { value, configurable: true, writable: true });
  define('toJSON', function () {
    return facts(this);
  });
  define(inspect.custom, function (_depth: number, options: InspectOptions) {
    return `${name} ${inspect(facts(this), options)}`;
  });
}
