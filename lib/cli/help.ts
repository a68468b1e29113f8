export const HELP = `nestjs-fair-lock: see the locks of all processes, and take one from its holder

USAGE
  npx nestjs-fair-lock <command> [options]

COMMANDS
  ls                        All locks, the longest wait first: holder, how many wait, for how long.
  inspect KEY               One lock: its holder, what is left of its lease, and its queue in order.
  watch                     The output of ls, repeatedly; Ctrl+C ends it.
  force-release KEY --token T
                            Takes the lock from the holder with the fencing token T and serves the next in
                            the queue. The holder is told, but can continue for a moment: only the token keeps
                            its late writes out.
  force-release KEY --holder ID
                            The same for a holder without a token: of a shared lock, or with --store redisson.
  doctor                    Checks Redis as an application does at startup (rights, version, memory policy,
                            clock), and whether a lock can be taken. Looks for silent processes and locks of
                            dead processes.

OPTIONS
  --redis URL               redis://user:password@host:6379/0, rediss:// for TLS.
                            Default: REDIS_URL, otherwise redis://localhost:6379. Keep a password in REDIS_URL:
                            other users of the computer can read arguments.
  --cluster                 The URL is one node of a Redis Cluster.
  --prefix TEXT             The keyPrefix of the module, after the key prefix of an ioredis client, if any.
                            Default: FAIR_LOCK_PREFIX, otherwise fairlock. Not for --store redisson, whose locks have none.
  --store redis|redisson    The store of the module. Default: redis
  --orphans                 ls, watch: only locks that a dead process holds.
  --timeout MS              How long to wait for the processes to respond. Default: 500
  --interval MS             watch: how long to pause between two outputs. Default: 1000
  --count N                 watch: end after N outputs.
  --token T                 force-release: the token that inspect shows.
  --holder ID               force-release: the id of a holder without a token; inspect shows it.
  --json                    One JSON value for programs; watch prints one on each line. Times are in ms. With
                            the status 4 it is {"error":"…"}.
  --help, --version

EXIT STATUS
  0  Done. For doctor: no problems found.
  1  doctor: something is wrong.
  2  The arguments are invalid; nothing was changed.
  3  The lock is free, or another holder has it by now; nothing was changed.
  4  Redis is unreachable, or rejected a command.
  5  The output cannot be written, as on a full disk.

Processes say which locks they use, and Redis says who holds them and who waits. A process that is stopped says
nothing; it is listed as silent, and ls and doctor search Redis for its locks (SCAN). While no command runs, none of this costs anything.

EXAMPLES
  npx nestjs-fair-lock ls
  npx nestjs-fair-lock inspect order:4711
  npx nestjs-fair-lock ls --json | jq '.locks[] | select(.waiters | length > 10) | .key'
  npx nestjs-fair-lock force-release order:4711 --token 91
`;
