/**
 * The fault table, and what covers each row: the tests of this folder whose full names match. A row whose tests are
 * missing, or did not run, is told at the end of a run. What `docs/reliability.md` says of them is taken from there.
 *
 * @type {readonly { row: string; within: string; tests: RegExp }[]}
 */
export const ROWS = [
  { row: 'SIGKILL of the holder', within: 'L + ε', tests: /a killed holder: the next/ },
  { row: 'close of the holder', within: 'ε after the drain', tests: /a holder that is closed/ },
  { row: 'SIGSTOP of the holder past L', within: 'L + ε', tests: /a holder stopped for longer/ },
  { row: 'SIGSTOP shorter than L - R - margin', within: '', tests: /a holder stopped for less/ },
  {
    row: 'SIGKILL of 1 to 1,000 waiters',
    within: 'ε',
    tests: /killed waiters (?!.*half-open)/,
  },
  { row: 'SIGKILL of waiters, half-open', within: 'W + ε', tests: /killed waiters .*half-open/ },
  { row: 'SIGSTOP of the head waiter', within: 'W + ε', tests: /head of the line stopped/ },
  { row: "suspend of the head waiter's host", within: '', tests: /host of the head suspended/ },
  {
    row: 'all subscribers cut during a release',
    within: 'heartbeat + ε',
    tests: /all subscribers cut at once/,
  },
  { row: 'wait times out or aborts', within: '1 RTT + ε', tests: /waits that end/ },
  {
    row: 'CLIENT KILL of subscribers',
    within: 'heartbeat + ε',
    tests:
      /subscriptions (the subscriber connections|the connection breaks|SUBSCRIBE|the re-subscription|a subscriber in)/,
  },
  { row: 'every message dropped, or doubled', within: 'heartbeat + ε', tests: /every message/ },
  { row: 'reply lost by a reset, late copies', within: 'ε', tests: /a reply lost by a reset/ },
  { row: 'reply lost in silence, late copies', within: 'C + ε', tests: /a reply lost in silence/ },
  { row: 'CLIENT PAUSE', within: 'C; L', tests: /^CLIENT PAUSE/ },
  { row: 'SCRIPT FLUSH', within: '+1 RTT', tests: /SCRIPT FLUSH/ },
  { row: 'restart with AOF', within: 'backoff + W', tests: /^Redis is killed.* append-only file/ },
  {
    row: 'a kept lock with a restart',
    within: 'its time + backoff',
    tests: /^a lock that its last hold keeps/,
  },
  { row: 'data lost', within: 'R + ε', tests: /Redis loses its data/ },
  { row: 'network', within: 'C; L', tests: /^a network in trouble/ },
  { row: 'READONLY, MISCONF, NOREPLICAS, BUSY', within: 'C; L', tests: /^a server that answers/ },
  { row: 'LOADING', within: 'C; W', tests: /a server that loads its data/ },
  { row: 'minimal ACL user', within: 'ε', tests: /only the rights that the lock needs/ },
  { row: 'maxmemory full', within: 'ε', tests: /maxmemory full/ },
  { row: 'a key evicted', within: 'R + W + ε', tests: /of a lock is evicted/ },
  { row: 'client wall clock stepped', within: '', tests: /a wall clock set/ },
  {
    row: 'server clock stepped',
    within: 'heartbeat + ε; R + ε; G + ε',
    tests: /the clock of the server is set/,
  },
  { row: 'event loop blocked', within: '2 L, the first tick', tests: /an event loop blocked/ },
  {
    row: 'a leader killed, stopped, cut off',
    within: 'L + ε',
    tests: /^a leader (killed|stopped|cut off|without Redis)/,
  },
  { row: 'a leader that resigns', within: 'ε', tests: /^a leader (told|whose)/ },
  { row: 'hostile names', within: '', tests: /names that are hostile/ },
  { row: 'a foreign type', within: 'ε', tests: /holds a foreign type/ },
  { row: 'random faults, then all healed', within: 'W for each fault + ε', tests: /^random faults/ },
];
