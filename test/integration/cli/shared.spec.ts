/** What the command line shows of locks that several hold together. */
import { redisUrl, uniquePrefix } from '../../support/redis.js';
import { eventually, SOON } from '../../support/waiting.js';
import { HOST, Peers, runCli } from './cli-process.js';

const TIME = '[\\d.]+ m?s';

let prefix: string;
let peers: Peers;
beforeEach(() => {
  prefix = uniquePrefix();
  peers = new Peers(prefix);
});
afterEach(() => peers.kill());

const outputOf = async (...args: string[]): Promise<string> => {
  const { out } = await runCli(redisUrl(), '--prefix', prefix, '--timeout', String(SOON), ...args);
  return out;
};

describe('permits, of which three are taken and three calls wait', () => {
  let pids: Record<'one' | 'other' | 'waiter', number | undefined>;
  beforeEach(async () => {
    const one = await peers.start('supplier=2/4');
    const other = await peers.start('supplier=1/4');
    const waiter = await peers.start('?supplier=2/4');
    await peers.start('?supplier=read', '?supplier');
    pids = { one: one.pid, other: other.pid, waiter: waiter.pid };
  });

  test('inspect shows each holder with its weight and its id, and how each waits', async () => {
    const lines = (await outputOf('inspect', 'supplier')).split('\n');
    expect(lines.slice(0, 4)).toEqual([
      'lock     "supplier"',
      'shared   3 of 4 permits are taken',
      '',
      expect.stringMatching(/^HOLDER +HELD FOR +ID$/),
    ]);
    expect(lines[4]).toMatch(new RegExp(`^${HOST}/${pids.one}/Peer\\.hold +${TIME} +2 of 4 permits +\\S+$`));
    expect(lines[5]).toMatch(
      new RegExp(`^${HOST}/${pids.other}/Peer\\.hold +${TIME} +1 of 4 permits +\\S+$`),
    );
    expect(lines).toContain('waiting  3');
    const [first, ...others] = lines.slice(-4, -1);
    expect(first).toMatch(new RegExp(`^1 +${HOST}/${pids.waiter}/Peer\\.wait +${TIME} +2 of 4 permits$`));
    // The order of two calls that one process makes at once is its own.
    expect(others.filter((line) => / reads$/.test(line))).toHaveLength(1);
  });

  test('ls names the first holder, and says how many others there are', async () => {
    const [, row] = (await outputOf('ls')).split('\n');
    expect(row).toMatch(
      new RegExp(
        `^supplier +${HOST}/(${pids.one}|${pids.other})/Peer\\.hold and 1 other +${TIME} +3 +${TIME}$`,
      ),
    );
  });

  test('force-release takes the permits of the holder that is named, and of no other', async () => {
    const row = (await outputOf('inspect', 'supplier'))
      .split('\n')
      .find((line) => line.startsWith(`${HOST}/${pids.one}/`));
    const id = row?.split(/ +/).at(-1) ?? '';
    expect(await outputOf('force-release', 'supplier', '--holder', id)).toContain(
      'was taken from its holder',
    );
    // A holder tells its label once it has heard of its grant.
    let after = '';
    const isTold = async (): Promise<boolean> => {
      after = await outputOf('inspect', 'supplier');
      return after.includes(`/${pids.waiter}/Peer.wait`);
    };
    await eventually(isTold, SOON, 'the label of the next holder');
    expect(after).not.toContain(`/${pids.one}/Peer.hold`);
    expect(after).toContain(`/${pids.other}/Peer.hold`);
    expect(after).toContain(`/${pids.waiter}/Peer.wait`);
  });
});

test('inspect counts readers, and shows the writer that waits for them', async () => {
  await peers.start('page=read', 'page=read');
  const writer = await peers.start('?page');
  const out = await outputOf('inspect', 'page');
  expect(out).toMatch(/^shared {3}2 reads$/m);
  expect(out.match(new RegExp(`Peer\\.hold +${TIME} +reads +\\S+$`, 'gm'))).toHaveLength(2);
  expect(out).toMatch(new RegExp(`^1 +${HOST}/${writer.pid}/Peer\\.wait +${TIME}$`, 'm'));
});
