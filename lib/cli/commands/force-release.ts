import { LockHolderChangedError } from '../../core/errors/errors.js';
import { quote } from '../../core/errors/text.js';
import { type Command } from '../call/command.js';
import { EXIT } from '../call/exit-status.js';

export const forceRelease: Command = async ({ locks, args: { key, token, holder, json }, print }) => {
  const named = holder === undefined ? { token } : { holder };
  const which = holder === undefined ? `token ${token}` : holder;
  const { released, message } = await release();
  print(json ? { key, ...named, released, message } : message);
  return released ? EXIT.done : EXIT.notHeld;

  async function release(): Promise<{ released: boolean; message: string }> {
    try {
      const released = await locks.engine.service.forceRelease(key, named);
      const message = released
        ? `The lock ${quote(key)} was taken from its holder (${which}); the next in the queue is served.`
        : await locks.orUnused(`The lock ${quote(key)} is free; nothing was changed.`);
      return { released, message };
    } catch (error) {
      if (!(error instanceof LockHolderChangedError)) throw error;
      return { released: false, message: await locks.orUnused(error.details) };
    }
  }
};
