import { inspect } from 'node:util';
import { type LockStoreUnavailableError } from '../../../../lib/core/errors/errors.js';
import {
  commandTimeout,
  networkTrouble,
  noConnection,
  nodeOfCluster,
  toCommandFailure,
} from '../../../../lib/stores/redis-client/server/server-failure.js';

describe('a reply that refuses a right', () => {
  const script = 'script: 37df4df413367c4b19e0d18a348b4e33caf764e6, on @user_script:1.';
  test.each([
    [
      '6.2',
      "ERR Error running script: @user_script: 1: The user executing the script can't run this command",
    ],
    ['7.0', `ERR The user executing the script can't run this command or subcommand ${script}`],
    [
      '7.0',
      `ERR The user executing the script can't access at least one of the keys mentioned in the command arguments ${script}`,
    ],
    [
      '7.0',
      `ERR The user executing the script can't publish to the channel mentioned in the command ${script}`,
    ],
    ['8.2', `ERR ACL failure in script: User u has no permissions to run the 'zadd' command ${script}`],
    ['8.2', `ERR ACL failure in script: No permissions to access a key ${script}`],
    [
      'Valkey 9.1',
      'ERR ACL failure in script: No permissions to access a channel script: on @user_script:1.',
    ],
    ['all', "NOPERM User u has no permissions to run the 'evalsha' command"],
  ])('of %s is not-permitted, and may have had an effect: %s', (_, message) => {
    const { failure, effect, retriable } = toCommandFailure(new Error(message));
    expect({ failure, effect, retriable }).toEqual({
      failure: 'not-permitted',
      effect: 'unknown',
      retriable: false,
    });
  });
});

test.each(['LOADING', 'app-READONLY', 'MOVED '])(
  'the name of the user %s, which such a reply has in it, is not taken for the reason',
  (user) => {
    const reply = `NOPERM User ${user} has no permissions to run the 'evalsha' command`;
    expect(toCommandFailure(new Error(reply))).toMatchObject({ failure: 'not-permitted', retriable: false });
  },
);

test.each(['MASTERDOWN Link with MASTER is down', "READONLY You can't write against a read only replica."])(
  'a primary that was demoted says %s: the client looks for its successor',
  (reply) => {
    expect(toCommandFailure(new Error(reply))).toMatchObject({ failure: 'read-only', retriable: true });
  },
);

test.each(['MOVED 7629 127.0.0.1:7002', 'ASK 7629 127.0.0.1:7002'])(
  'a node of a Cluster that answers %s to a client of one server: what to give instead, and nothing is repeated',
  (reply) => {
    const { error, retriable } = nodeOfCluster(new Error(reply))!;
    expect(error.details).toMatch(
      /is a node of a Redis Cluster.*set the option `redis` to a `Cluster` of ioredis/,
    );
    expect(retriable).toBe(false);
  },
);

test('a server that does not know the commands, as a Sentinel: what it may be, and nothing of the arguments', () => {
  const reply = "ERR unknown command 'evalsha', with args beginning with: '0123' '3' 'secret' ";
  const { effect, error, retriable } = toCommandFailure(new Error(reply));
  expect(error).toMatchObject({ failure: 'refused' });
  expect(error.details).toMatch(
    /does not know a command that the lock needs: a Sentinel \(give `sentinels` and `name`/,
  );
  expect(error.details).not.toContain('secret');
  expect({ effect, retriable }).toEqual({ effect: 'none', retriable: false });
});

test.each([
  'Too many Cluster redirections. Last error: ReplyError: MOVED 7629 127.0.0.1:7002',
  'MOVED 7629 127.0.0.1:7002',
])('a Cluster client that was not led on asks again: %s', (reply) => {
  expect(toCommandFailure(new Error(reply))).toMatchObject({ failure: 'unreachable', retriable: true });
});

describe('why a connection cannot be made', () => {
  const coded = (code: string, message: string) => Object.assign(new Error(message), { code });

  test('is what the system or TLS says', () => {
    expect(networkTrouble(coded('ENOTFOUND', 'getaddrinfo ENOTFOUND cache'))).toBe(
      'getaddrinfo ENOTFOUND cache',
    );
    expect(networkTrouble(coded('DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate'))).toBe(
      'self-signed certificate',
    );
  });

  test.each(['write EPIPE', 'read ECONNRESET'])(
    'may be one that the server does not tell, where it closes each connection: %s',
    (message) => {
      const trouble = networkTrouble(coded(message.split(' ')[1]!, message));
      expect(trouble).toMatch(new RegExp(`^${message}: .*TLS \\(rediss://.*maxclients.*protected mode`));
    },
  );

  test('to a client that uses TLS, does not suggest TLS but the certificate that it lacks', () => {
    const trouble = networkTrouble(coded('ECONNRESET', 'read ECONNRESET'), true);
    expect(trouble).toMatch(/^read ECONNRESET: .*certificate of a client .*maxclients.*protected mode/);
    expect(trouble).not.toContain('rediss://');
  });

  test.each([
    'Protocol error, got "H" as reply type byte. Please report this.',
    'Unknown RESP type 72 "H". Please report this.',
  ])('may be that something else than Redis answers: %s', (message) => {
    expect(networkTrouble(new Error(message))).toMatch(/^something other than Redis responds there/);
  });

  test.each([
    ['EPROTO', 'write EPROTO 0:error:0A00010B:SSL routines:ssl3_get_record:wrong version number'],
    ['ECONNRESET', 'Client network socket disconnected before secure TLS connection was established'],
  ])('may be that the server does not use TLS: %s', (code, message) => {
    expect(networkTrouble(coded(code, message))).toMatch(
      /it might not use TLS: if so, use redis:\/\/ instead/,
    );
  });

  test('is that of the first address of a name that has several', () => {
    const each = coded('ECONNREFUSED', 'connect ECONNREFUSED ::1:6379');
    expect(networkTrouble(Object.assign(new AggregateError([each, each]), { code: 'ECONNREFUSED' }))).toBe(
      'connect ECONNREFUSED ::1:6379',
    );
  });

  test('does not repeat the password of an address that has one, as where a URL was given as the host', () => {
    const url = 'redis://user:qz/wx:vj@kq@cache';
    const cause = coded('ENOTFOUND', `getaddrinfo ENOTFOUND ${url}`);
    const failure = noConnection(cause, false)!;
    expect(failure.error.details).toContain('getaddrinfo ENOTFOUND …@cache');
    expect(inspect([failure, networkTrouble(cause)])).not.toMatch(/qz\/|vj@|kq@/);
  });

  test('is not told where the error has no code: its text may have a password in it', () => {
    expect(networkTrouble(new Error('WRONGPASS secret'))).toBeUndefined();
    expect(networkTrouble('secret')).toBeUndefined();
  });
});

test.each([
  [toCommandFailure(new Error('LOADING')), 'Redis could not serve the lock: Redis is loading its data.'],
  [commandTimeout(50), 'Redis did not respond within 50 ms (commandTimeout).'],
])('the reason of a failure stands apart from what it means for the lock', ({ error }, reason) => {
  expect((error as LockStoreUnavailableError).reason).toBe(reason);
  expect(error.details).toMatch(/^(.*) The lock was not taken\./);
  expect(error.details.startsWith(reason)).toBe(true);
});
