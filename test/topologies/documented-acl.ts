import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PAGE = fileURLToPath(new URL('../../docs/redis-setup.md', import.meta.url));

/** The arguments of the ACL commands that the documentation gives, word by word. */
export function documentedAcl(): { user: string[]; onCluster: string[]; onSentinels: string[] } {
  const commands = readFileSync(PAGE, 'utf8')
    .split('```')
    .map((block) => block.slice(block.indexOf('\n')).replace(/\s+/g, ' ').trim())
    .filter((block) => block.startsWith('ACL SETUSER'))
    .map((block) => block.split(' ').slice(1));
  const [user, onCluster, onSentinels] = commands;
  if (!user || !onCluster || !onSentinels)
    throw new Error('docs/redis-setup.md gives no ACL rule, or not those for a Cluster and for sentinels.');
  return { user, onCluster, onSentinels };
}
