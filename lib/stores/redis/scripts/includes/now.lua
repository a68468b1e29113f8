-- What every script begins with: the time, and the grant as it is kept.
--
-- KEYS[1] the hash: present grant and last token, last ticket, a record for each waiting client
-- KEYS[2] the queue: ticket -> member; a member is client:sequence, or client:sequence:lease for a fixed lease
-- KEYS[3] the clients: liveness deadline in ms -> client
local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]

-- R1: the time is taken once, in µs. As text where it is kept, told or compared: a number that becomes text is the most
-- expensive thing a small script can do, and Lua's own conversion loses digits. Until the year 2286 a time in µs has 16
-- digits, and one in ms 13, so they compare as text.
local time = redis.call('TIME')
local stamp = time[1] .. string.sub('00000' .. time[2], -6)
local stampMs = string.sub(stamp, 1, 13)

-- One field tells whether the lock is free; most commands need not look further. It is one of
--   F<last token> <done>                                                                free, and nobody waits
--   V<last token> <done>                                                                free; there may be waiters
--   H<holder>:<sequence> <token> <done> <lease> <label>                                 held, and nobody waits
--   W<holder>:<sequence> <token> <done> <lease> <label>                                 held; there may be waiters
--   R<holder>:<run> <first token> <since> <from> <last token> <done> <lease> <label>    held; there may be waiters
-- run: sequences of the requests that are covered, '4,5,6'; since: when granted; from: when the lease was last set, both in
-- µs; lease: in ms from then; last token: of the run, or higher if a waiter has seen a higher one; done:
-- '<first token>:<client>:<sequence>' of the grant that was released last, '<first token>:forced', or '-' (M9).
-- H and W say the same as R where the clock gave the token, so that since, from and last token are that very number.
local kept = redis.call('HGET', hash, 'grant')
local form = kept and string.byte(kept)
local F, V, H, W, R = 70, 86, 72, 87, 82

-- Whether a grant that cannot be read is cleared away; else it is an error.
local clears = false
