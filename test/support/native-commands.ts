import * as scripts from '../../lib/stores/redis/scripts.generated.js';
import type { ProxiedCommand } from './tcp-proxy.js';

export type ScriptName = 'acquire' | 'release' | 'heartbeat' | 'leave' | 'inspect' | 'forceRelease';

/** Recognizes the native store's scripts among commands; for the rules of a TcpProxy. */
export function script(name: ScriptName): (command: ProxiedCommand) => boolean {
  const { sha1, lua } = scripts[name];
  return ({ name: command, args: [what] }) =>
    (command === 'evalsha' && what === sha1) || (command === 'eval' && what === lua);
}
