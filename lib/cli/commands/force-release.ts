import { LockHolderChangedError } from '../../core/errors.js';
import { quote } from '../../core/text.js';
import { type Command } from '../command.js';
import { EXIT } from '../exit-status.js';

export const forceRelease: Command = async ({ locks, args: { key, token, json }, say }) => {
  const tell = (released: boolean, text: string) =>
    say(json ? JSON.stringify({ key, token, released }) : text);
  try {
    if (await locks.forceRelease(key, token)) {
      tell(
        true,
        `The lock ${quote(key)} was taken from its holder (token ${token}); the next in line is served.`,
      );
      return EXIT.done;
    }
    tell(false, `The lock ${quote(key)} is free; nothing was done.`);
  } catch (error) {
    if (!(error instanceof LockHolderChangedError)) throw error;
    tell(false, error.details);
  }
  return EXIT.notHeld;
};
