import { type CanActivate, type ModuleMetadata, type Type } from '@nestjs/common';
import { LockConfigurationError } from '../core/errors/errors.js';
import { withPage } from '../core/errors/pages.js';
import { requireOptions } from '../core/options/refusals.js';

/** The options of `FairLockBoardModule.forRoot`. */
export interface FairLockBoardOptions {
  /** Where the board is, below the global prefix. Default: `'locks'`. */
  path?: string;
  /**
   * Guards of the page, its data and its files, as for `@UseGuards`. The application does not start without guards, because keys and
   * labels can be confidential. A browser sends cookies and basic authentication, but never an `Authorization: Bearer` header.
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

/** @throws LockConfigurationError for options that would leave the board unprotected, or do not exist */
export function checkBoardOptions(options: FairLockBoardOptions): void {
  const known = ['path', 'guards', 'unguarded', 'readOnly', 'name', 'imports'] as const;
  requireOptions(options, known, 'FairLockBoardModule');
  const { path, guards = [], unguarded, readOnly } = options;
  if (path !== undefined && typeof path !== 'string') {
    refuse("The option path of FairLockBoardModule must be a string such as 'admin/locks'.");
  }
  for (const [name, value] of Object.entries({ unguarded, readOnly })) {
    if (value !== undefined && typeof value !== 'boolean') {
      refuse(`The option ${name} of FairLockBoardModule must be true or false.`);
    }
  }
  if (!Array.isArray(guards) || guards.some((guard) => !guard)) {
    refuse(
      'The option guards of FairLockBoardModule must be a list of guards such as [AdminGuard]. It is not a list, or one of ' +
        'them is undefined.',
    );
  }
  if (guards.length === 0 && unguarded !== true) {
    refuse(
      'FairLockBoardModule has no guards, so every client of the application could read the keys of all locks. Set ' +
        'guards: FairLockBoardModule.forRoot({ guards: [AdminGuard] }), or set unguarded: true if a global guard ' +
        'or the network keeps strangers out.',
    );
  }
}

function refuse(sentence: string): never {
  throw new LockConfigurationError(withPage(sentence, 'observability#the-board'));
}
