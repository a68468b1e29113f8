-- Every script begins with this include: it names the keys and the caller (docs/protocol.md).
--
-- KEYS[1] the hash: present grant, last token, last ticket, a record of each waiting client, and of each that has shared holds
-- KEYS[2] the queue: ticket -> member; a member is client:sequence, client:sequence:lease for a fixed lease, client:sequence: for a
--         request that joins no batch, or client:sequence:mark for one that shares the lock (includes/kinds.lua)
-- KEYS[3] the clients: liveness deadline in ms -> client
-- ARGV[1] the calling client
-- The last three of a command that may mark its caller alive (R5) are its listener:
--   run id of the server that both receives its commands and carries its subscription, '-' if these are not one known server
--   for how many ms it has been subscribed there
--   its host/pid, without spaces
--
-- The client writes the values that its options fix before this, as constants (commands/client-scripts.ts):
--   WINDOW     its liveness window, ms
--   LEASE      its lease, ms
--   REST       for how long Redis remembers a released lock that no request waits for, ms
--   RETENTION  for how long the hash of an unreleased grant outlives its lease, ms, so that a crashed holder can be named
--   STRICT     the longest lease of strict clients, ms; nil if the caller is not strict (docs/replication.md)
-- and, for the short cuts, as text:
--   LEASE_TEXT, REST_TEXT
--   LEASE_LIFE                          the time to live of the hash of a grant for LEASE
--   FIRST_LEASE_TEXT, FIRST_LEASE_LIFE  the first lease that a waiter gets, and the time to live of its hash
local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local client = ARGV[1]

-- The formats of a lock that one request holds at a time, and of one that requests of several kinds use. This script reads both.
local FORMAT, KINDS = '1', '2'
