import { scriptsOf } from '../../lib/stores/redis/commands.js';
import { ROW_LENGTH } from '../../lib/stores/redis/row.js';
import { USUAL_TIMES } from './history/lab.js';
import type { ProxiedCommand } from './tcp-proxy.js';

export type ScriptName = 'acquire' | 'done' | 'heartbeat' | 'inspect';

const { lease, livenessWindow, commandTimeout } = USUAL_TIMES;

/** The scripts of the workers of a lab with the usual times that are not strict. */
export const LAB_SCRIPTS = scriptsOf(
  { lease, window: livenessWindow, commandTimeout, rowLength: ROW_LENGTH },
  undefined,
);

/** Recognizes the scripts of such workers among commands; for the rules of a TcpProxy. */
export function script(name: ScriptName): (command: ProxiedCommand) => boolean {
  const { sha1, lua } = LAB_SCRIPTS[name];
  return ({ name: command, args: [what] }) =>
    (command === 'evalsha' && what === sha1) || (command === 'eval' && what === lua);
}
