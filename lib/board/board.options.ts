import { type CanActivate, type ModuleMetadata, type Type } from '@nestjs/common';
import { LockConfigurationError } from '../core/errors/errors.js';
import { withPage } from '../core/errors/pages.js';

/** The options of `FairLockBoardModule.forRoot`. */
export interface FairLockBoardOptions {
  /** Where the board is, below the global prefix. Default: `'locks'`. */
  path?: string;
  /**
   * Guards of the page, its data and its files, as for `@UseGuards`. The application does not start without guards, because keys and
   * labels may be confidential. A browser sends cookies and basic authentication by itself, but no `Authorization: Bearer` header.
   */
  guards?: (Type<CanActivate> | CanActivate)[];
  /** Set it to true if a global guard or the network protects the board instead. Default: false. */
  unguarded?: boolean;
  /** False lets the board take a lock from its holder. Default: true. */
  readOnly?: boolean;
  /** The registration of `FairLockModule` that the board shows. Default: the one without a name. */
  name?: string;
  /** Modules whose providers the guards need. */
  imports?: ModuleMetadata['imports'];
}

const KNOWN: readonly string[] = ['path', 'guards', 'unguarded', 'readOnly', 'name', 'imports'];

/** @throws LockConfigurationError for options that would leave the board unprotected, or do not exist */
export function checkBoardOptions(options: FairLockBoardOptions): void {
  for (const option of Object.keys(options)) {
    if (!KNOWN.includes(option)) {
      refuse(`FairLockBoardModule has no option ${JSON.stringify(option)}. It has ${KNOWN.join(', ')}.`);
    }
  }
  const { path, guards = [], unguarded, readOnly } = options;
  if (path !== undefined && typeof path !== 'string') {
    refuse("The option path of FairLockBoardModule must be a text, as 'admin/locks'.");
  }
  for (const [name, value] of Object.entries({ unguarded, readOnly })) {
    if (value !== undefined && typeof value !== 'boolean') {
      refuse(`The option ${name} of FairLockBoardModule must be true or false.`);
    }
  }
  if (!Array.isArray(guards) || guards.some((guard) => !guard)) {
    refuse(
      'The option guards of FairLockBoardModule must be a list of guards, as [AdminGuard]. One of them is undefined, ' +
        'or it is no list.',
    );
  }
  if (guards.length === 0 && unguarded !== true) {
    refuse(
      'FairLockBoardModule has no guards, so every client of the application could read the keys of all locks. Give it ' +
        'guards, as FairLockBoardModule.forRoot({ guards: [AdminGuard] }), or set unguarded: true if a global guard ' +
        'or the network keeps strangers out.',
    );
  }
}

function refuse(sentence: string): never {
  throw new LockConfigurationError(withPage(sentence, 'observability'));
}
