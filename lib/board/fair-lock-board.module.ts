import { type DynamicModule, Module } from '@nestjs/common';
import { LockConfigurationError } from '../core/errors/errors.js';
import { DEFAULT_NAME, getFairLockToken } from '../nest/fair-lock.tokens.js';
import { BOARD_SETTINGS, type BoardSettings, boardController } from './board.controller.js';
import { BoardFeed, type LockSource } from './board-feed.js';
import { checkBoardOptions, type FairLockBoardOptions } from './board.options.js';

/**
 * A page that shows the locks of all processes while it is open: holders, waiters and since when, the queue of one lock,
 * the processes, and the longest waits.
 *
 * The page, its files and its data are one controller, so the guards, the global prefix and the middleware of the
 * application apply to them. While no browser shows the page, the board sends Redis nothing.
 *
 * @example
 * FairLockBoardModule.forRoot({ path: 'admin/locks', guards: [AdminGuard] })
 * FairLockBoardModule.forRoot({ guards: [AdminGuard], imports: [AuthModule], readOnly: false })
 */
@Module({})
export class FairLockBoardModule {
  /**
   * Mounts the board.
   *
   * @throws LockConfigurationError without guards, unless `unguarded` is true, and for an option that does not exist
   */
  static forRoot(options: FairLockBoardOptions = {}): DynamicModule {
    checkBoardOptions(options);
    const { path = 'locks', guards = [], readOnly = true, name = DEFAULT_NAME, imports = [] } = options;
    const settings: BoardSettings = { path, name, readOnly };
    return {
      module: FairLockBoardModule,
      imports,
      controllers: [boardController(path, guards)],
      providers: [
        { provide: BOARD_SETTINGS, useValue: settings },
        {
          provide: BoardFeed,
          inject: [{ token: getFairLockToken(name), optional: true }],
          useFactory: (locks: LockSource | undefined) => new BoardFeed(found(locks, name)),
        },
      ],
    };
  }
}

function found(locks: LockSource | undefined, name: string): LockSource {
  if (locks) return locks;
  const registration = name === DEFAULT_NAME ? 'forRoot()' : `forRoot({ name: ${JSON.stringify(name)} })`;
  throw new LockConfigurationError(
    `FairLockBoardModule found no locks to show. Import FairLockModule.${registration} in the root module; if it is ` +
      'not global, add the module that exports it to the imports of the board.',
  );
}
