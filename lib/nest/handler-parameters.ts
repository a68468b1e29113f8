import 'reflect-metadata';
import { createParamDecorator } from '@nestjs/common';

/** Where Nest notes the parameters that `@Param()`, `@Body()`, `@Payload()`, `@Args()` … fill, as it did for this one. */
const PARAMETERS: unknown = (() => {
  class Probe {}
  createParamDecorator(() => undefined)()(Probe.prototype, 'handler', 0);
  return Reflect.getMetadataKeys(Probe, 'handler')[0] as unknown;
})();

/** Whether Nest fills arguments of the method from a request. */
export function isHandler(target: object, property: string | symbol): boolean {
  return Reflect.hasMetadata(PARAMETERS, target.constructor, property);
}
