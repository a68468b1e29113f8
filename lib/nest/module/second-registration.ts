import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { type ModulesContainer } from '@nestjs/core';
import { LockConfigurationError } from '../../core/errors/errors.js';
import { ListOfClass } from '../decorator/nest-metadata.js';
import { DEFAULT_NAME } from '../fair-lock.tokens.js';

/** The injection token of the name of a registration. The same symbol in every copy of this package, whose registrations exclude each other. */
export const FAIR_LOCK_NAME = Symbol.for('nestjs-fair-lock:name-of-registration');

const importsOfClass = new ListOfClass(Module({ imports: [] }));

/**
 * Rejects two registrations of one name. Each might have its own locks, or read those of the other: sections with the same key could
 * then run at the same time without any error.
 *
 * @throws LockConfigurationError that names the modules which import them
 */
export function refuseSecondOf(name: string, modules: ModulesContainer): void {
  const all = [...modules.values()];
  const registered = all.filter(({ providers }) => providers.get(FAIR_LOCK_NAME)?.instance === name);
  if (registered.length < 2) return;
  const importers = new Map<DynamicModule, string>();
  for (const { metatype } of all) collectImporters(name, metatype, importers);
  const called = name === DEFAULT_NAME ? 'without a name' : `with the name ${JSON.stringify(name)}`;
  const where = importers.size < 2 ? '' : `, by ${[...importers.values()].join(' and by ')}`;
  throw new LockConfigurationError(
    `FairLockModule is registered ${registered.length} times ${called}${where}. One registration does not see the ` +
      'locks of the other. Register it once, in the root module: it is global. Give a second one another name, as in ' +
      "FairLockModule.forRoot({ name: 'billing' }).",
  );
}

/** Notes which module imports each registration of `name`, also by way of a dynamic module. */
function collectImporters(
  name: string,
  importer: Type | DynamicModule,
  found: Map<DynamicModule, string>,
): void {
  const isClass = typeof importer === 'function';
  const imports: readonly unknown[] = isClass ? importsOfClass.of(importer) : (importer.imports ?? []);
  for (const imported of imports) {
    if (!isDynamicModule(imported)) continue;
    if (isRegistrationOf(name, imported)) {
      if (!found.has(imported)) found.set(imported, (isClass ? importer : importer.module).name);
    } else {
      collectImporters(name, imported, found);
    }
  }
}

function isDynamicModule(imported: unknown): imported is DynamicModule {
  return typeof imported === 'object' && imported !== null && 'module' in imported;
}

function isRegistrationOf(name: string, { providers = [] }: DynamicModule): boolean {
  return providers.some(
    (provider) => 'useValue' in provider && provider.provide === FAIR_LOCK_NAME && provider.useValue === name,
  );
}
