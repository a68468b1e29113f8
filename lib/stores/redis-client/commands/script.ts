import { createHash } from 'node:crypto';
import type { CommandFailure } from '../server/server-failure.js';

/** A Lua script as it is sent: by its text, or by the digest of a text that the server has. */
export interface Script {
  readonly name: string;
  readonly lua: string;
  readonly sha1: string;
}

/** The values of a command, besides its keys. */
export type Words = readonly (string | number)[];

/** Called each time that a command has not been answered within `commandTimeout`. Its answer may still come, on the same connection. */
export type Overdue = (failure: CommandFailure) => void;

/** Runs scripts. */
export interface ScriptRunner {
  /** Resolves with the reply, however late; rejects if the server rejects the script, or the connection breaks first. */
  run(script: Script, keys: readonly string[], args: Words, overdue?: Overdue): Promise<unknown>;
}

/** Joins the parts of a script, some of which several scripts share. `tools/embed-lua.mjs` writes the arguments. */
export function script(name: string, ...parts: readonly string[]): Script {
  const lua = parts.join('\n');
  return { name, lua, sha1: createHash('sha1').update(lua).digest('hex') };
}
