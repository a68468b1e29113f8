import {
  inChanges,
  inClients,
  inInclude,
  inLine,
  inLiveness,
  inScript,
  inStore,
  simulation,
  test,
  type Exhibit,
} from './exhibit.js';

const RULES_SPEC = 'integration/script-rules.spec.ts';

/** The rules of docs/protocol.md, each left out once. */
export const RULES: readonly Exhibit[] = [
  {
    of: 'R1 each script tells the time of Redis',
    what: 'it does not',
    mutations: [inChanges('return { status, micros, wake,', 'return { status, 0, wake,')],
    proof: simulation(),
  },
  {
    of: 'R2 nothing after the deadline (acquire)',
    what: 'acquire has no deadline',
    mutations: [
      inScript('acquire', 'if now > tonumber(ARGV[2]) then', 'if false then'),
      inScript('acquire', ' and stampMs <= ARGV[2]\n', '\n'),
    ],
    proof: test(RULES_SPEC, 'acquire writes nothing after its deadline'),
  },
  {
    of: 'R2 nothing after the deadline (heartbeat)',
    what: 'a heartbeat has no deadline',
    mutations: [inScript('heartbeat', 'if now > tonumber(ARGV[2]) then', 'if false then')],
    proof: test(RULES_SPEC, 'a heartbeat neither renews nor marks alive after its deadline'),
  },
  {
    of: 'R3 handing over works when memory is full',
    what: 'a release ends at a write that needs memory',
    mutations: [inScript('release', "type(redis.pcall('HSET',", "type(redis.call('HSET',")],
    proof: test(
      'integration/server-trouble.spec.ts',
      'out of memory refuses new requests with a typed error',
    ),
  },
  {
    of: 'R4 a time to live next to the write',
    what: 'a grant has none',
    mutations: [inScript('acquire', "  redis.call('PEXPIRE', hash, life)\n", '')],
    proof: simulation(),
  },
  {
    of: 'R4 messages under pcall',
    what: 'a message that is not permitted ends the script',
    mutations: [inChanges("redis.pcall('PUBLISH'", "redis.call('PUBLISH'")],
    proof: { ...simulation(), denied: ['PUBLISH'] },
  },
  {
    of: 'R5 the caller is alive',
    what: 'a caller is judged like all other clients',
    mutations: [inLiveness('if not another then', 'if false then')],
    proof: test(RULES_SPEC, 'a client that calls is alive, though its channel has no listener (R5)'),
  },
  {
    of: 'R6 suspects: a broken subscription costs nothing for a while',
    what: 'it costs the place at once',
    mutations: [inLiveness('if micros - suspect >= GRACE * 1000 then', 'if true then')],
    proof: test(RULES_SPEC, 'and is back in its own place when it calls within the grace (R6)'),
  },
  {
    of: 'R6 suspects: a client that comes back first does not overtake',
    what: 'suspects are passed over by any caller',
    mutations: [
      inLine(
        'if not suspectSince or mayPass(member, one.subscribed, suspectSince, markedAt) then',
        'if true then',
      ),
    ],
    proof: test(RULES_SPEC, 'the first to come back does not overtake the line (R6)'),
  },
  {
    of: 'R6 suspects: a count of listeners that a ping contradicts proves nothing',
    what: 'it is believed for ever',
    mutations: [inStore('subscription-check.ts', '    uncounted.add(serverRunId);\n', '')],
    proof: test(
      'unit/subscription-check.spec.ts',
      'rebuilds it once, then trusts no count of that server any more, and says so once',
    ),
  },
  {
    of: 'R7 all overdue at once: the server was away',
    what: 'there is no other window',
    mutations: [inClients('return now <= graceUntil', 'return false')],
    proof: test(
      RULES_SPEC,
      'when all clients in line are overdue at once, all get one more window, once (R7)',
    ),
  },
  {
    of: 'R7 a newcomer after a restart (F236)',
    what: 'a newcomer takes all that are silent for dead hosts',
    mutations: [inClients('or not deadline and wasAway()', '')],
    proof: test(RULES_SPEC, 'a client that did not wait before is the first to call after a restart (R7)'),
  },
  {
    of: 'R7 the server was away when all are silent',
    what: 'only when all are overdue',
    mutations: [inClients("(tonumber(valueOf(text, 'window')) or WINDOW) / 3", '0')],
    proof: test(RULES_SPEC, 'none is dropped, though only some are overdue (R7)'),
  },
  {
    of: 'R8 a bounded look, and then another',
    what: 'no client is told to go on',
    mutations: [inLine('  askAgainAt = now\n', '')],
    proof: test(RULES_SPEC, 'a line of more dead than one call may look at is worked off by asking again'),
  },
  {
    of: 'R8 the silent are dropped only when their window is over',
    what: 'half a window is enough',
    mutations: [
      inLiveness(
        'and deadline < now and (deadline == 0',
        'and deadline - WINDOW / 2 < now and (deadline == 0',
      ),
      inScript('release', 'deadline >= stampMs and', 'deadline - WINDOW / 2 >= tonumber(stampMs) and'),
    ],
    proof: simulation('mute', 'delay'),
  },
  {
    of: 'R9 what lies in the socket was not late',
    what: 'a process that stood still judges before it reads',
    mutations: [
      {
        file: 'stores/redis-client/commands/script-sender.ts',
        from: 'setTimeout(() => setImmediate(() => this.look()), Math.ceil(delay))',
        to: 'setTimeout(() => this.look(), Math.ceil(delay))',
      },
    ],
    proof: test('integration/standing-still.spec.ts', 'an answer that lay there is no timeout'),
  },
  {
    of: 'R2 what came too late wrote nothing',
    what: 'a request that a process could not send in time is refused',
    mutations: [
      {
        file: 'stores/redis-client/view/common-view.ts',
        from: 'if (tooLate && !request.cameTooLate) {',
        to: 'if (tooLate && request.cameTooLate) {',
      },
    ],
    proof: test('integration/standing-still.spec.ts', 'that could not be sent meanwhile is sent then'),
  },
  {
    of: 'R9 a message is only a hint',
    what: 'who waits for a message asks no more',
    mutations: [
      inStore(
        'view/machine.ts',
        'return isInLine(view) || isShared || late !== undefined || (batch !== undefined && wantsRenewal(batch));',
        'return late !== undefined || (batch !== undefined && wantsRenewal(batch));',
      ),
    ],
    proof: simulation('mute'),
  },
  {
    of: 'R10 a grant that no call waits for is handed on',
    what: 'it is kept',
    mutations: [
      inStore('view/grant.ts', 'if (!holder) return finish(view, batch, ended);', 'if (!holder) return;'),
    ],
    proof: simulation('mute', 'partition'),
  },
  {
    of: 'R11 clock of the server',
    what: 'not forgotten when it was set',
    mutations: [
      { file: 'stores/redis-client/server/server-clock.ts', from: '      this.best = undefined;\n', to: '' },
    ],
    // Not by simulation: the next narrower sample would hide it.
    proof: test(
      'unit/redis-client/server/server-clock.spec.ts',
      'know nothing any more of a server that was replaced, or whose clock was set',
    ),
  },
  {
    of: 'R11 what comes from the future has no known age',
    what: 'it counts as new',
    mutations: [
      {
        file: 'stores/redis-client/server/server-clock.ts',
        from: 'age < 0 ? Infinity : Math.max(age, ',
        to: 'Math.max(0, age, ',
      },
    ],
    proof: test(
      'unit/redis-client/server/server-clock.spec.ts',
      'is unknown if the message comes from the future',
    ),
  },
  {
    of: 'R11 a message is as old as the last reply at least',
    what: 'it is as old as its stamp says',
    mutations: [
      {
        file: 'stores/redis-client/server/server-clock.ts',
        from: ', elapsedSince(askedAt, instant))',
        to: ')',
      },
    ],
    proof: test(
      'unit/redis-client/server/server-clock.spec.ts',
      'is not shorter than the time since the last reply',
    ),
  },
  {
    of: 'R11 a message is as old as the clock says that was set back',
    what: 'the present clock alone counts',
    mutations: [
      {
        file: 'stores/redis-client/server/server-clock.ts',
        from: 'this.formerly(instant) - stamp, ',
        to: '',
      },
    ],
    proof: test(
      'unit/redis-client/server/server-clock.spec.ts',
      'counts by the clock from before for a minute',
    ),
  },
  {
    of: 'R12 self-fencing by the larger of two clocks',
    what: 'by the monotonic clock alone',
    mutations: [
      {
        file: 'core/port/lease.ts',
        from: 'Math.max(end.monotonic - start.monotonic, end.wall - start.wall)',
        to: 'end.monotonic - start.monotonic',
      },
    ],
    proof: test('unit/core/port/lease.spec.ts', 'is the larger of both clocks'),
  },
  {
    of: 'R12 a section that was told to stop has the margin of its lease for that',
    what: 'the next request of its run is served at once',
    mutations: [
      inStore(
        'view/grant.ts',
        'setLost(view, batch, now.monotonic + batch.margin, serverUntil);',
        'finish(view, batch);',
      ),
    ],
    proof: test(
      'unit/redis/view/grant.spec.ts',
      'the section has the margin to stop before the next member asks',
    ),
  },
  {
    of: 'R12 a lost lock that a renewal without an answer may have kept is released (F237)',
    what: 'it ends with the lease that the last answer told',
    mutations: [inStore('view/grant.ts', 'wantsRenewal(batch) ? Math', 'false ? Math')],
    proof: test(
      'unit/redis/view/grant.spec.ts',
      'or if a renewal was not answered, which the server may have carried out',
    ),
  },
  {
    of: 'R12 the age of a message by the larger of two clocks',
    what: 'by the monotonic clock alone',
    mutations: [
      {
        file: 'stores/redis-client/server/server-clock.ts',
        from: 'elapsedSince(askedAt, instant))',
        to: 'instant.monotonic - askedAt.monotonic)',
      },
      {
        file: 'stores/redis-client/server/server-clock.ts',
        from: ' || disagreement(best.at, instant) > AGREEMENT) return Infinity;\n    const age = latestAt(best, instant) - stamp;',
        to: ') return Infinity;\n    const age = best.latest + instant.monotonic - best.at.monotonic - stamp;',
      },
    ],
    proof: simulation('suspend'),
  },
  {
    of: 'R13 the same request id when asking again',
    what: 'a repeated acquire in line gets a new ticket',
    mutations: [
      inInclude(
        'place',
        'local isPlaced = ticket and ticket <= known',
        'local isPlaced = ticket and ownTicket > 0 and ticket <= known',
      ),
    ],
    proof: test(RULES_SPEC, 'a repeated acquire in line keeps its ticket and its place'),
  },
  {
    of: 'R13 a told ticket counts',
    what: 'the younger ticket of a duplicate command is kept',
    mutations: [inInclude('place', 'local isPlaced = ticket and ticket <= known', 'local isPlaced = ticket')],
    proof: test(RULES_SPEC, 'a request whose lost place a duplicate command took anew comes back'),
  },
  {
    of: 'R13 an earlier copy may have run',
    what: 'the outcome of the last copy counts for all of them',
    mutations: [
      {
        file: 'stores/redis-client/commands/retry.ts',
        from: "        if (effect === 'unknown') failure = failure.afterUnknown();\n",
        to: '',
      },
    ],
    proof: test('unit/redis-client/commands/retry.spec.ts', 'has an unknown outcome if one copy of it has'),
  },
  {
    of: 'R14 a run is of one client',
    what: 'neighbours of another client are taken along',
    mutations: [inLine('if owner ~= name then', 'if not owner then')],
    proof: simulation(),
  },
  {
    of: 'M1 the lease left counts from the sending',
    what: 'a repeated acquire is told the whole lease',
    mutations: [
      inChanges('requests, tonumber(token), leaseEnd - now', 'requests, tonumber(token), leaseEnd - since'),
    ],
    proof: test(
      RULES_SPEC,
      'a repeated acquire gets the same grant, with the lease still left at that instant (M1)',
    ),
  },
  {
    of: 'M2 the reply to a renewal touches only its own hold',
    what: 'it touches whatever is held when it comes',
    mutations: [
      inStore(
        'view/heartbeat.ts',
        '  if (view.batch !== batch) return;\n  const { status',
        '  batch = view.batch ?? batch;\n  const { status',
      ),
    ],
    proof: test(
      'unit/redis/view/grant.spec.ts',
      'M2: the reply to a renewal touches only the hold whose token was sent with it',
    ),
  },
  {
    of: 'M3 a grant is ended only by its token',
    what: 'by the name of its client',
    mutations: [inScript('release', 'holder == client and token == ARGV[2]\n', 'holder == client\n')],
    proof: test(RULES_SPEC, 'a release names the grant by its token; an older one touches nothing (M3)'),
  },
  {
    of: 'M4 who leaves takes no grant',
    what: 'a request that gave up takes its turn all the same',
    mutations: [
      inStore('view/grant.ts', "if (request?.state !== 'waiting') continue;", 'if (!request) continue;'),
    ],
    proof: simulation('delay'),
  },
  {
    of: 'M5 generations: who was dropped re-enters',
    what: 'it does not',
    mutations: [
      inStore(
        'view/requests.ts',
        'return waiter.ticket > 0 && waiter.generation',
        'return false && waiter.generation',
      ),
    ],
    proof: simulation('cut-subscribers', 'partition', 'pause'),
  },
  {
    of: 'M5 generations: dropping is a new one',
    what: 'the record of a dropped client stays',
    // Otherwise a heartbeat that names the oldest waiter finds out.
    mutations: [
      // Otherwise a heartbeat that names the oldest waiter finds out.
      inLiveness('      forget(name)\n      redis.call', '      redis.call'),
      inScript('heartbeat', "return sequence ~= '' and not", 'return false and not'),
    ],
    proof: simulation('cut-subscribers', 'partition', 'pause'),
  },
  {
    of: 'M5 generations: older data lack the newest requests',
    what: 'a heartbeat names only the oldest',
    mutations: [inStore('view/requests.ts', 'known.length > 1 ? known.at(-1) : undefined', 'undefined')],
    proof: test('unit/redis/view/places.spec.ts', 'names the requests that wait longest and shortest'),
  },
  {
    of: 'M6 another server may not know the line',
    what: 'waiters do not ask again when another server answers',
    mutations: [inStore('view/machine.ts', '  requests.requestAllAgain(view);\n', '')],
    proof: test(
      'unit/redis/view/places.spec.ts',
      'M6: when another server answers, all requests in line ask again',
    ),
  },
  {
    of: 'M6 a former primary that is promoted again may not know the line',
    what: 'it passes for the same server',
    mutations: [
      {
        file: 'stores/redis-client/server/introduction.ts',
        from: 'primary: `${runId}/${replicationId}`',
        to: 'primary: runId',
      },
    ],
    proof: test(
      'integration/server-id.spec.ts',
      'M6: a server keeps its id until it is promoted again, which its run id does not show',
    ),
  },
  {
    of: 'M6 an old acknowledgement does not count',
    what: 'the reply to any command satisfies the need to ask',
    mutations: [
      inStore(
        'view/requests.ts',
        'if (reply.order > waiter.confirmAfter) waiter.confirmAfter',
        'waiter.confirmAfter',
      ),
    ],
    proof: test(
      'unit/redis/view/places.spec.ts',
      'M6: a reply to a command from before the need arose does not satisfy it',
    ),
  },
  {
    of: 'M7 members of a lapsed run keep their places',
    what: 'only where their client surely has a listener',
    mutations: [
      inLine('listeners(holder) ~= 0 or isNewServer)', 'listeners(holder) ~= 0 and not isNewServer)'),
    ],
    proof: test(RULES_SPEC, 'may be alive: nothing is known of its subscription'),
  },
  {
    of: 'R13 a command without an answer is repeated by back-off',
    what: 'it is repeated at once',
    mutations: [
      { file: 'stores/redis-client/commands/retry.ts', from: 'FIRST_PAUSE = 10;', to: 'FIRST_PAUSE = 0;' },
      {
        file: 'stores/redis-client/commands/retry.ts',
        from: 'LONGEST_PAUSE = 500;',
        to: 'LONGEST_PAUSE = 0;',
      },
    ],
    proof: simulation('errors', 'refuse', 'cut'),
  },
  {
    of: 'tokens rise beyond those that a message told',
    what: 'only the tokens of replies are remembered',
    mutations: [inStore('redis-lock-store.ts', '    this.commands.saw(grant);\n', '')],
    proof: test(
      'integration/fencing-tokens.spec.ts',
      'a client that saw that token only in a message gets a higher one',
    ),
  },
  {
    of: 'tokens rise beyond those that a message told',
    what: 'a client enters a grant whose token is lower than one that it saw, from a server that lost its data',
    mutations: [inStore('view/replies.ts', 'wanted && grant.first <= view.seenBefore', 'false')],
    proof: simulation('server-step', 'evict'),
  },
  {
    of: 'M7 a grant that ran out unnoticed is given again',
    what: 'it goes to the next',
    mutations: [inLine('if entry and (holder == client or isNewServer', 'if entry and (isNewServer')],
    proof: test(RULES_SPEC, 'a grant that ran out before its client learned of it is given again'),
  },
  {
    of: 'M7 a grant whose message was lost with the server leaves its request in its place',
    what: 'the request loses its place',
    mutations: [inLine("isNewServer and server ~= '-' or inGrace()", 'false')],
    proof: test(RULES_SPEC, 'keeps its place if the server was away meanwhile'),
  },
  {
    of: 'M7 members without a turn keep their places',
    what: 'they are forgotten with the run',
    mutations: [
      inLine("  enqueue(entries, lastTicket(), redis.call('ZCARD', queue))\n", ''),
      inStore('view/grant.ts', '    else requestAgain(view, request);\n', ''),
    ],
    proof: simulation('wall-step', 'pause'),
  },
  {
    of: 'M8 a finished grant is not entered',
    what: 'it is',
    mutations: [
      inStore(
        'view/replies.ts',
        'if (grant.first > view.finished) return present(view, grant);',
        'if (grant.first > 0) return present(view, grant);',
      ),
    ],
    proof: simulation('delay', 'wall-step'),
  },
  {
    of: 'M9 DONE only for the first of the last run',
    what: 'for any older request of the client',
    mutations: [
      inScript(
        'acquire',
        'if releasedRequest == me then',
        'if releasedRequest and string.find(releasedRequest, client, 1, true) then',
      ),
      inScript(
        'acquire',
        ' and releasedRequest ~= me\n',
        ' and not (releasedRequest and string.find(releasedRequest, client, 1, true))\n',
      ),
    ],
    proof: simulation(),
  },
  {
    of: 'M10 marking alive does not undo a new generation',
    what: 'a client with a deadline keeps its generation',
    mutations: [
      inClients('local known = generation and deadline', 'local known = generation or deadline'),
      inClients("'generation=' .. generation ..", "'generation=' .. (generation or '1') .."),
    ],
    proof: simulation('cut-subscribers', 'evict'),
  },
  {
    of: 'the short cuts look whether a request waits',
    what: 'they do not',
    mutations: [
      inScript(
        'acquire',
        'if not STRICT and life and',
        "state = state == 'free+queue' and 'free' or state\nif not STRICT and life and",
      ),
      inScript('release', 'if usual and not head and', 'if usual and'),
    ],
    proof: simulation('force-release'),
  },
  {
    of: 'a lock says that requests may wait for it',
    what: 'one that is queued does not change what it says',
    mutations: [
      inClients(
        "set('state', (state or 'free') .. (kinds and '+kinds' or '+queue'), 'last-ticket'",
        "set('last-ticket'",
      ),
    ],
    proof: simulation(),
  },
  {
    of: 'a lock whose state was lost is asked for its queue',
    what: 'it is taken for one that nothing waits for',
    mutations: [inScript('acquire', " and redis.call('ZCARD', queue) == 0)", ')')],
    proof: simulation('evict'),
  },
  {
    of: 'a handoff to the head of the line asks whether its channel has a listener',
    what: 'it does not',
    mutations: [
      inScript('release', "(redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0) > 0", 'true'),
      inLiveness('if count ~= 0 or', 'if true or'),
    ],
    proof: test(
      RULES_SPEC,
      'a client whose channel has no listener is passed over at once by one that was in line before',
    ),
  },
  {
    of: 'a grant that was taken before it was received is not entered',
    what: 'it is',
    mutations: [inStore('view/replies.ts', '  else view.finished = Math.max(view.finished, first);\n', '')],
    proof: test(
      'integration/watchdog.spec.ts',
      'and for one whose grant was taken by force before it was received',
    ),
  },
  {
    of: 'no command shortens what a lease needs',
    what: 'a write that comes first sets the time to live of a lock at rest',
    mutations: [inChanges('local needed = math.max(0, leases - now)', 'local needed = 0')],
    proof: test(
      'integration/key-lifetimes.spec.ts',
      'a refused newcomer does not shorten the time to live of a long lease',
    ),
  },
  {
    of: 'no command shortens what a lease needs',
    what: 'keys of a line live by the window of the caller alone',
    mutations: [
      inClients(
        "  local latest = tonumber(redis.call('ZREVRANGE', clients, 0, 0, 'WITHSCORES')[2]) or now\n",
        '  local latest = now\n',
      ),
    ],
    proof: test('integration/key-lifetimes.spec.ts', 'no command of any client shortens what a lease'),
  },
  {
    of: 'a killed waiter costs no window',
    what: 'what is known of the clients keeps the time to live of the emptied line',
    mutations: [
      inClients(
        '  if before == 0 then\n',
        "  if before == 0 then\n    redis.call('PEXPIRE', queue, WINDOW + RETENTION)\n  elseif false then\n",
      ),
    ],
    proof: test(
      'integration/key-lifetimes.spec.ts',
      'a client that waits where the line has just been empty keeps the clients',
    ),
  },
  {
    of: 'a killed waiter costs no window',
    what: 'a client whose entry and record were swept counts as live',
    mutations: [
      inLiveness(
        '    if not text then\n      return { verdict = DEAD }',
        '    if not text then\n      return { verdict = LIVE }',
      ),
    ],
    proof: test(
      'integration/script-dead-waiters.spec.ts',
      'a client that was silent for so long that its entry was swept does not get another window',
    ),
  },
  {
    of: 'records do not pile up on a lock that is never at rest',
    what: 'none of a client that ended is removed',
    mutations: [inClients('    generation = stamp\n    sweep()\n', '    generation = stamp\n')],
    proof: test(
      'simulation/records.spec.ts',
      'keeps no record of a client that waited for it and ended long ago when another comes',
    ),
  },
  {
    of: 'a free lock keeps the records of those that wait until their next heartbeat',
    what: 'it keeps its hash for a minute',
    mutations: [inLine('    keepFree(lineLife())', '    keepFree(RETENTION)')],
    proof: test(
      'integration/key-lifetimes.spec.ts',
      'no command of any client shortens what a lease, a token or a place needs',
    ),
  },
  {
    of: 'a lost grant is released when its section ends',
    what: 'only until the end of the lease that the holder knew of when it took the lock for lost',
    mutations: [inStore('view/replies.ts', 'return keptByServer(lostButRunning, grant);', 'return;')],
    proof: test(
      'unit/redis/view/grant.spec.ts',
      'but before, if a reply that came late tells that the server has renewed it',
    ),
  },
  {
    of: 'nothing begins on a lease that is over',
    what: 'acquire returns a handle without a look at its lease',
    mutations: [
      {
        file: 'core/engine/fair-lock-service.ts',
        from: 'this.requireHeld(lock);\n    } catch (error) {',
        to: '} catch (error) {',
      },
    ],
    proof: test(
      'unit/core/holds/fair-lock.spec.ts',
      'whose lease ran out while the process stood still, and leaves nothing held',
    ),
  },
];
