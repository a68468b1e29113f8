import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const OPERATIONS = fileURLToPath(new URL('../../docs/operations.md', import.meta.url));

/** The arguments of the ACL commands that the documentation gives, word by word. */
export function documentedAcl(): { user: string[]; onCluster: string[] } {
  const commands = readFileSync(OPERATIONS, 'utf8')
    .split('```')
    .map((block) => block.slice(block.indexOf('\n')).replace(/\s+/g, ' ').trim())
    .filter((block) => block.startsWith('ACL SETUSER'))
    .map((block) => block.split(' ').slice(1));
  const [user, onCluster] = commands;
  if (!user || !onCluster)
    throw new Error('docs/operations.md gives no ACL rule, or not the one for a Cluster.');
  return { user, onCluster };
}
