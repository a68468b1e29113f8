import { type Logger } from '@nestjs/common';
import { withPage } from '../../core/errors/pages.js';
import { detached } from '../../core/runtime/async-context.js';

/** How long an application has been up (ms) before it can be told: scripts have ended by then, and `main.ts` has done all it does. */
const UP_FOR = 10_000;

/**
 * Warns once if nothing in this process listens to SIGTERM: each deployment then leaves the locks that the process holds until their leases end.
 * Any listener silences it, and so does `NODE_ENV=test`.
 *
 * @returns ends it
 */
export function warnIfSignalIsUnheard(logger: Logger): () => void {
  if (process.env.NODE_ENV === 'test') return () => undefined;
  const timer = detached(() => setTimeout(() => look(logger), UP_FOR).unref());
  return () => clearTimeout(timer);
}

function look(logger: Logger): void {
  if (process.listenerCount('SIGTERM') > 0) return;
  logger.warn(
    withPage(
      'Nothing in this process listens to SIGTERM, so each deployment stops it without releasing its locks, and they block other callers ' +
        'until their leases expire. Call app.enableShutdownHooks(), or listen to SIGTERM and call app.close().',
      'production#shutdown',
    ),
  );
}
