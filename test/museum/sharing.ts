import {
  inInclude,
  inScript,
  inStore,
  simulation,
  test,
  type BySimulation,
  type Exhibit,
} from './exhibit.js';

const inKinds = (from: string, to: string) => inInclude('kinds', from, to);
const inShares = (from: string, to: string) => inInclude('shares', from, to);

const shared: BySimulation = { ...simulation(), plans: { shared: true } };
const kept: BySimulation = { ...simulation(), plans: { kept: true } };
const sharedAndKept: BySimulation = { ...simulation(), plans: { shared: true, kept: true } };

/** The rules of shared and of kept locks (docs/protocol.md), each left out once. */
export const SHARING: readonly Exhibit[] = [
  {
    of: 'sharing: permits are held together as far as their weights fit',
    what: 'as long as one permit is left',
    mutations: [inKinds('used + kind.weight <= math.min(', 'used < math.min(')],
    proof: shared,
  },
  {
    of: 'sharing: kinds exclude each other',
    what: 'reads and permits are held together',
    mutations: [inKinds('kind ~= nil and kind.mode == sharing\n', 'kind ~= nil\n')],
    proof: shared,
  },
  {
    of: 'sharing: the limit of the request that joined the line last counts for all',
    what: 'each goes by a limit of its own',
    mutations: [inKinds('math.min(kind.limit, limit or kind.limit)', 'kind.limit')],
    proof: test('integration/shared-rule.spec.ts', 'also repeated ones, and each weight comes back once'),
  },
  {
    of: 'sharing: the line stays one line',
    what: 'a request that fits passes those that wait',
    mutations: [inScript('acquire-shared', 'if waiting == 0 and admits(kind) and', 'if admits(kind) and')],
    proof: shared,
  },
  {
    of: 'sharing: the short cuts end as the long way does',
    what: 'a request that holds a permit joins the line when its command is repeated',
    mutations: [inScript('acquire-shared', " or string.find(own or '', ',' .. ARGV[3] .. ':', 1, true)", '')],
    proof: test('integration/short-cuts-shared.spec.ts', 'end in the same keys, reply and messages'),
  },
  {
    of: 'sharing: the short cuts end as the long way does',
    what: 'a release passes permits to a client that is dead',
    mutations: [inScript('release-shared', ' or deadline < stampMs or (redis.pcall(', ' or (redis.pcall(')],
    proof: test('integration/short-cuts-shared.spec.ts', 'end in the same keys, reply and messages'),
  },
  {
    of: 'sharing: a release gives the whole weight back',
    what: 'one permit',
    mutations: [inShares('used = used - weight', 'used = used - 1')],
    proof: shared,
  },
  {
    of: 'sharing: a request that is over is over everywhere',
    what: 'only its place in line ends',
    mutations: [inScript('release-shared', 'if kinds then', "if kinds and mark == '' then")],
    proof: shared,
  },
  {
    of: 'sharing: a request that is over is over everywhere',
    what: 'only its hold ends',
    mutations: [inScript('release-shared', 'if place then', 'if false then')],
    proof: shared,
  },
  {
    of: 'sharing: a holder that dies gives its weight back when its lease ends',
    what: 'it never does',
    mutations: [inShares('if moment > now then', 'if true then')],
    proof: { ...simulation('kill'), plans: { shared: true } },
  },
  {
    of: 'sharing: a script looks when the first lease ends',
    what: 'not when a fixed one does',
    mutations: [
      inKinds(
        '    noteEnd(tonumber(own))\n',
        '    lastEnd = math.max(lastEnd or 0, tonumber(own))\n    firstEnd = firstEnd or lastEnd\n',
      ),
    ],
    proof: shared,
  },
  {
    of: 'sharing: a heartbeat renews all that its client holds',
    what: 'it renews nothing',
    mutations: [inShares('ends = math.max(ends, math.min(now + LEASE, LONGEST))', 'ends = ends + 0')],
    proof: { ...simulation(), only: [], plans: { shared: true } },
  },
  {
    of: 'sharing: a client is told what it was let into',
    what: 'it is not',
    mutations: [inKinds("CHANNEL .. name, 'shared '", "CHANNEL .. name, 'nothing '")],
    proof: { ...simulation(), only: [], plans: { shared: true } },
  },
  {
    of: 'sharing: a hold that the server lacks is lost (M2)',
    what: 'it is held until its lease ends',
    mutations: [
      inStore(
        'view/shared.ts',
        'if (share?.number !== hold.number) loseNow(view, hold, GONE);\n    else if (',
        'if (share && ',
      ),
    ],
    proof: { ...simulation('evict', 'flush', 'force-release'), plans: { shared: true } },
  },
  {
    of: 'sharing: a hold that no call waits for is ended (R10)',
    what: 'it is kept',
    mutations: [
      inStore('view/shared.ts', 'endShares(view, [hold?.request ??', 'void (view && [hold?.request ??'),
    ],
    proof: { ...simulation('mute', 'partition', 'duplicate'), plans: { shared: true } },
  },
  {
    of: 'kept: a permit is kept from its grant on',
    what: 'from its release on',
    mutations: [inShares('math.min(math.floor(found / 1000), now) + keep', 'now + keep')],
    proof: sharedAndKept,
  },
  {
    of: 'kept: a permit is kept until its time',
    what: 'it is free when its call ends',
    mutations: [inShares('if keptUntil > now then', 'if false then')],
    proof: sharedAndKept,
  },
  {
    of: 'kept: a kept permit counts',
    what: 'its weight is free',
    mutations: [inShares('    kept = int(math', '    used = used - weight\n    kept = int(math')],
    proof: sharedAndKept,
  },
  {
    of: 'kept: each new head of the line is told until when',
    what: 'only the first',
    mutations: [inKinds("string.match(kept, ' (.*)$') ~= head", "string.match(kept, ' (.*)$') == ''")],
    proof: test('integration/kept-locks.spec.ts', 'and so does each that becomes the head'),
  },
  {
    of: 'kept: a lock is kept from its grant on',
    what: 'from its release on',
    mutations: [
      inScript(
        'release',
        'math.min(since + (whole(keep) or 0), LONGEST)',
        'math.min(now + (whole(keep) or 0), LONGEST)',
      ),
    ],
    proof: kept,
  },
  {
    of: 'kept: a lock is kept until its time',
    what: 'it is passed on when its call ends',
    mutations: [inScript('release', 'if keptUntil > now then', 'if false then')],
    proof: kept,
  },
];
