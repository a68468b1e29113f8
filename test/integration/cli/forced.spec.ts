import { createFairLock, type StandaloneFairLock } from 'nestjs-fair-lock/standalone';
import { redisUrl, uniquePrefix } from '../../support/redis.js';
import { type ProxiedCommand, TcpProxy } from '../../support/tcp-proxy.js';
import { type Answer, runCli } from './cli-process.js';

/** Of the native scripts one says that it forces; of Redisson's scripts for one lock, only this one has nothing after the command that publishes. */
const forcing = ({ args }: ProxiedCommand): boolean => args.includes('force') || args.at(-1) === 'PUBLISH';

describe.each(['redis', 'redisson'] as const)('force-release whose reply is lost, store %s', (store) => {
  const prefix = uniquePrefix();
  let locks: StandaloneFairLock;
  let proxy: TcpProxy;
  beforeAll(async () => {
    locks = await createFairLock(
      { store, redis: redisUrl(), ...(store === 'redis' && { keyPrefix: prefix }) },
      () => undefined,
    );
    proxy = await TcpProxy.start(redisUrl());
    await force('one whose script Redis does not know yet');
  });
  afterAll(async () => {
    await locks.close();
    await proxy.close();
  });

  interface Outcome extends Answer {
    readonly isHeld: boolean;
  }

  /** Takes a lock from its holder by the command line, through the proxy. */
  async function force(name: string): Promise<Outcome> {
    const key = `${prefix} ${name}`;
    const lock = await locks.acquire(key);
    const { holder } = await locks.inspect(key);
    const which =
      store === 'redis' ? ['--prefix', prefix, '--token', `${holder?.token}`] : ['--holder', holder!.id!];
    const answer = await runCli(proxy.url, 'force-release', key, '--store', store, ...which);
    const isHeld = await locks.isLocked(key);
    await lock.release();
    return { ...answer, isHeld };
  }

  test('has taken the lock if a copy of the command is answered', async () => {
    const { hits } = proxy.rule({ match: forcing, reply: 'cut' });
    const { status, out, isHeld } = await force('answered later');
    expect(hits).toHaveLength(1);
    expect(out).toMatch(/ was taken from its holder/);
    expect({ status, isHeld }).toEqual({ status: 0, isHeld: false });
  });

  test('has an outcome that is not known if none is answered', async () => {
    const rule = proxy.rule({ match: forcing, reply: 'lost', times: Infinity });
    const { status, err, isHeld } = await force('never answered');
    rule.remove();
    expect(err).toContain('Whether the lock was taken from its holder is not known: inspect it.');
    expect(err).not.toMatch(/Nothing was changed|was not taken/);
    expect({ status, isHeld }).toEqual({ status: 4, isHeld: false });
  });

  test('has changed nothing if the lock could not be looked at before', async () => {
    const looks = ({ args }: ProxiedCommand): boolean => args.some((arg) => arg.includes('unseen'));
    const rule = proxy.rule({ match: looks, reply: 'lost', times: Infinity });
    const { status, err, isHeld } = await force('unseen');
    rule.remove();
    expect(err).toMatch(/\(commandTimeout\)\. Nothing was changed\. Check --redis/);
    expect({ status, isHeld }).toEqual({ status: 4, isHeld: true });
  });
});
