import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson's fair lock, driven line by line: the Java half of the interop tests.
 *
 * <p>Arguments: the address of Redis, {@code single} or {@code cluster}, {@code lockWatchdogTimeout} in ms,
 * {@code fairLockWaitTimeout} in ms (not set where the version does not know it).
 *
 * <p>Each line of input is {@code worker verb lock numbers…}. A worker is a thread, so that it is an owner to Redisson.
 * Each line of output is {@code worker event nanoseconds details…}, with the time of the host's monotonic clock, the one
 * that Node's {@code process.hrtime} reads too. {@code process stall} is followed by the milliseconds for which the program was
 * given no core. The program ends at the end of its input, without giving anything back.
 */
public final class Peer {
    private static final Map<String, ExecutorService> WORKERS = new ConcurrentHashMap<>();
    private static final com.sun.management.OperatingSystemMXBean SYSTEM =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final long WATCH_PERIOD = 10_000_000;
    /** Less than that is what timers do anyway, ns. */
    private static final long NOTICEABLE = 20_000_000;
    private static long lastLook = System.nanoTime();
    private static long usedThen = SYSTEM.getProcessCpuTime();

    private Peer() {}

    public static void main(String[] args) throws Exception {
        Config config = new Config();
        config.setLockWatchdogTimeout(Long.parseLong(args[2]));
        setFairLockWaitTimeout(config, Long.parseLong(args[3]));
        if (args[1].equals("cluster")) {
            config.useClusterServers().addNodeAddress(args[0]);
        } else {
            config.useSingleServer().setAddress(args[0]);
        }
        RedissonClient redisson = Redisson.create(config);
        Thread watch = new Thread(Peer::watchStalls);
        watch.setDaemon(true);
        watch.start();
        say("main", "ready", redisson.getId());

        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            worker(words[0]).execute(() -> perform(redisson, words));
        }
        Runtime.getRuntime().halt(0);
    }

    private static void setFairLockWaitTimeout(Config config, long timeout) throws ReflectiveOperationException {
        try {
            Config.class.getMethod("setFairLockWaitTimeout", long.class).invoke(config, timeout);
        } catch (NoSuchMethodException e) {
            // Before 3.46 it is 300,000 ms and cannot be set.
        }
    }

    private static ExecutorService worker(String name) {
        return WORKERS.computeIfAbsent(name, key -> Executors.newSingleThreadExecutor());
    }

    private static void perform(RedissonClient redisson, String[] words) {
        String worker = words[0];
        RLock lock = redisson.getFairLock(words[2]);
        try {
            switch (words[1]) {
                case "name":
                    say(worker, "named", redisson.getId() + ":" + Thread.currentThread().getId());
                    break;
                case "lock":
                    lock(lock, words);
                    say(worker, "granted", "");
                    break;
                case "tryLock":
                    say(worker, tryLock(lock, words) ? "granted" : "refused", "");
                    break;
                case "take":
                    take(lock, worker, Long.parseLong(words[3]));
                    break;
                case "unlock":
                    lock.unlock();
                    say(worker, "released", "");
                    break;
                case "held":
                    say(worker, "held", String.valueOf(lock.isHeldByCurrentThread()));
                    break;
                case "force":
                    say(worker, "forced", String.valueOf(lock.forceUnlock()));
                    break;
                default:
                    throw new IllegalArgumentException(words[1]);
            }
        } catch (Exception e) {
            say(worker, "failed", String.valueOf(e));
        }
    }

    /** {@code lock name [lease]} */
    private static void lock(RLock lock, String[] words) {
        if (words.length > 3) {
            lock.lock(Long.parseLong(words[3]), TimeUnit.MILLISECONDS);
        } else {
            lock.lock();
        }
    }

    /** {@code tryLock name wait [lease]}; a wait of 0 never queues */
    private static boolean tryLock(RLock lock, String[] words) throws InterruptedException {
        long wait = Long.parseLong(words[3]);
        if (words.length > 4) {
            return lock.tryLock(wait, Long.parseLong(words[4]), TimeUnit.MILLISECONDS);
        }
        return wait == 0 ? lock.tryLock() : lock.tryLock(wait, TimeUnit.MILLISECONDS);
    }

    /** {@code take name hold}: a whole section, with its ends marked inside */
    private static void take(RLock lock, String worker, long hold) throws InterruptedException {
        lock.lock();
        say(worker, "granted", "");
        Thread.sleep(hold);
        say(worker, "ending", "");
        lock.unlock();
        say(worker, "released", "");
    }

    private static void watchStalls() {
        while (true) {
            try {
                Thread.sleep(WATCH_PERIOD / 1_000_000);
            } catch (InterruptedException e) {
                return;
            }
            look();
        }
    }

    /** Says that the program was given no core, if so; what it computed meanwhile is left out. */
    private static synchronized void look() {
        long now = System.nanoTime();
        long used = SYSTEM.getProcessCpuTime();
        long stalled = now - lastLook - WATCH_PERIOD - (used - usedThen);
        lastLook = now;
        usedThen = used;
        if (stalled >= NOTICEABLE) {
            write("process", "stall", String.valueOf(stalled / 1_000_000));
        }
    }

    /** First, that the program was given no core, if so: what is said now may be late by it. */
    private static synchronized void say(String worker, String event, String details) {
        look();
        write(worker, event, details);
    }

    private static void write(String worker, String event, String details) {
        System.out.println(worker + " " + event + " " + System.nanoTime() + " " + details);
        System.out.flush();
    }
}
