-- What every script begins with: its caller and the time (docs/protocol.md).
--
-- KEYS[1] the hash: present grant, last token, last ticket, a record of each waiting client
-- KEYS[2] the queue: ticket -> member; a member is client:sequence, or client:sequence:lease for a fixed lease
-- KEYS[3] the clients: liveness deadline in ms -> client
-- ARGV[1] the calling client
-- ARGV[2] run id of the server that its commands go to and that carries its subscription, '-' if there is no such server
-- ARGV[3] for how many ms it has been subscribed there
-- ARGV[4] its host/pid, without spaces
-- ARGV[5] its liveness window, ms
-- ARGV[6] its lease, ms
-- ARGV[7] for how long a released lock that nothing waits for is remembered, ms
-- ARGV[8] the longest lease of strict clients, ms; '' if the caller is not strict (docs/replication.md)
local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local client = ARGV[1]

-- The version of the format that this script writes, and the newest that it reads.
local FORMAT = '1'
-- The hash of a grant that is never released outlives its lease by this (ms), so that a crashed holder can be named.
local RETENTION = 60000
-- A hundred years, ms. Lua writes a time in ms that is at most so far ahead as it is, and larger numbers not.
local CENTURY = 3155760000000

-- R1: the time is taken once. Short cuts keep and compare it as text, µs in 16 digits and ms in 13: conversions are expensive.
local time = redis.call('TIME')
local stamp = time[1] .. (#time[2] == 6 and time[2] or string.sub('00000' .. time[2], -6))
local stampMs = string.sub(stamp, 1, 13)
