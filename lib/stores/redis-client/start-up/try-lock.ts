import { script, type Overdue, type ScriptRunner } from '../commands/script.js';
import { tryLock as tryLockScript } from '../scripts/scripts.generated.js';
import type { RequiredCommands } from './start-up-check.js';

const TRY_LOCK = script(...tryLockScript);

/**
 * Takes a lock that nothing else uses and gives it back, with every command that the store needs, in one script.
 *
 * @throws what a request for a free lock would fail with
 */
export function tryLock(
  runner: ScriptRunner,
  { key, commands }: RequiredCommands,
  overdue?: Overdue,
): Promise<unknown> {
  return runner.run(TRY_LOCK, [key], commands, overdue);
}
