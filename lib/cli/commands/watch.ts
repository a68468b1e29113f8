import { setTimeout as sleep } from 'node:timers/promises';
import { sentenceOf } from '../../core/errors/errors.js';
import { printable } from '../../core/errors/text.js';
import { type Command, type CommandContext } from '../call/command.js';
import { EXIT } from '../call/exit-status.js';
import { fitted } from '../call/text.js';
import { overviewText } from './ls.js';

const CLEAR = '\x1b[H\x1b[J';

export const watch: Command = async (context) => {
  const { args, signal, print, screen } = context;
  for (let look = 1; !signal.aborted; look++) {
    const seen = await lookOnce(context);
    if (signal.aborted) break;
    if (screen && typeof seen === 'string') print(fitted(seen, screen), CLEAR);
    else print(seen);
    if (look >= args.count) break;
    await sleep(args.interval, undefined, { signal }).catch(() => undefined);
  }
  return EXIT.done;
};

/** Looks once. If Redis is unavailable, returns that instead of failing, so that the watch goes on. */
async function lookOnce({ locks, args }: CommandContext): Promise<string | object> {
  try {
    const overview = await locks.query(args, args.orphans);
    if (args.json) return overview;
    return `${new Date().toLocaleTimeString('en-GB')}  every ${args.interval} ms; Ctrl+C ends\n\n${overviewText(overview, args)}`;
  } catch (error) {
    if (args.count !== Infinity) throw error;
    return args.json ? { error: sentenceOf(error) } : printable(sentenceOf(error));
  }
}
