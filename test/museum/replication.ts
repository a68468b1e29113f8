import { inInclude, inScript, inStore, simulation, test, type Exhibit } from './exhibit.js';

/** What docs/replication.md says, each left out once. */
export const REPLICATION: readonly Exhibit[] = [
  {
    of: 'replicas: a grant counts when they have it',
    what: 'the answer of WAIT is not looked at',
    mutations: [inStore('replication/replication.ts', 'replicas >= this.options.min && !refusal', 'true')],
    proof: simulation('failover', 'split', 'replica-stall'),
  },
  {
    of: 'replicas: a renewal counts when they have it',
    what: 'it counts when it is written',
    mutations: [
      inStore(
        'view/heartbeat.ts',
        "applyHeartbeat(view, command, reply, reply.status === 'gone')",
        'applyHeartbeat(view, command, reply, true)',
      ),
    ],
    proof: simulation('failover', 'split', 'replica-stall'),
  },
  {
    of: 'replicas: WAIT is about the writes of its own connection',
    what: 'it counts on the next connection, too',
    mutations: [
      inStore(
        'replication/replication.ts',
        "if (epoch !== this.epoch || replicas === undefined || replicas === 'failed')",
        "if (replicas === undefined || replicas === 'failed')",
      ),
    ],
    proof: simulation('failover', 'split'),
  },
  {
    of: 'strict: a new primary waits',
    what: 'it grants at once',
    mutations: [inInclude('primary', 'grantableAt = since + lease\n', 'grantableAt = 0\n')],
    proof: simulation('failover'),
  },
  {
    of: 'strict: a new primary waits',
    what: 'for half the longest lease',
    mutations: [inInclude('primary', 'grantableAt = since + lease\n', 'grantableAt = since + lease / 2\n')],
    proof: simulation('failover'),
  },
  {
    of: 'strict: a new primary waits',
    what: 'not where acquire takes the short cut for a lock that is free',
    mutations: [inScript('acquire', 'if not STRICT and life and', 'if life and')],
    proof: simulation('failover'),
  },
  {
    of: 'strict: a promoted replica is a new primary',
    what: 'the marker of its predecessor counts',
    mutations: [
      inInclude(
        'primary',
        "known ~= id or not tonumber(since) or before ~= '' and before ~= redis.call('HGET', marker, 'before')",
        'not tonumber(since)',
      ),
    ],
    proof: simulation('failover'),
  },
  {
    of: 'strict: a primary that comes back is a new primary',
    what: 'its own marker counts, from before it was a replica',
    mutations: [
      inInclude('primary', " or before ~= '' and before ~= redis.call('HGET', marker, 'before')", ''),
    ],
    proof: simulation('failover'),
  },
  {
    of: 'strict: a new primary does not begin to wait again with each command',
    what: 'it does',
    mutations: [inInclude('primary', '  if isNew then\n', '  isNew = true\n  if isNew then\n')],
    proof: simulation('failover'),
  },
  {
    of: 'replicas: a lease counts from the renewal that they confirmed',
    what: 'the next renewal counts from the confirmation, which may come late',
    mutations: [
      inStore(
        'view/heartbeat.ts',
        '  view.nextBeat = Math.min(view.nextBeat, grant.since.monotonic + view.settings.timing.heartbeat);\n',
        '',
      ),
    ],
    proof: test(
      'unit/redis/view/replicas.spec.ts',
      'the next renewal is due a heartbeat after the sending of that one, however long replicas took',
    ),
  },
];
