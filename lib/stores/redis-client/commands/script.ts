import { createHash } from 'node:crypto';

/** A Lua script as it is sent: by its text, or by the digest of a text that the server has. */
export interface Script {
  readonly name: string;
  readonly lua: string;
  readonly sha1: string;
}

/** Runs scripts. */
export interface ScriptRunner {
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
}

/** Joins the parts of a script, some of which several scripts share. `tools/embed-lua.mjs` writes the arguments. */
export function script(name: string, ...parts: readonly string[]): Script {
  const lua = parts.join('\n');
  return { name, lua, sha1: createHash('sha1').update(lua).digest('hex') };
}
