import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/**
 * Redisson's fair lock as a worker of the benchmarks: what workers/workload.mjs does, with threads for askers.
 *
 * <p>Arguments: the address of Redis, how many clients. Each line of input is {@code id verb name=value…}, each line of
 * output {@code id {json}}. Stamps are ms of the host's monotonic clock.
 */
public final class Bench {
    private static final List<RedissonClient> CLIENTS = new ArrayList<>();
    private static final ExecutorService THREADS = Executors.newCachedThreadPool();
    /** Redisson's owner of a lock is a thread: the same one has to release. */
    private static final Map<String, ExecutorService> HOLDERS = new ConcurrentHashMap<>();
    private static final Map<String, Line> LINES = new ConcurrentHashMap<>();
    /** An asker that failed is not a slow one: what it did is no figure. */
    private static final AtomicReference<Throwable> FAILED = new AtomicReference<>();

    private Bench() {}

    private static final class Line {
        final List<Integer> granted = new ArrayList<>();
        final CountDownLatch left;
        double firstAt;
        double lastAt;

        Line(int count) {
            left = new CountDownLatch(count);
        }
    }

    private static final class Args extends HashMap<String, String> {
        int number(String name) {
            return Integer.parseInt(get(name));
        }

        boolean flag(String name) {
            return Boolean.parseBoolean(get(name));
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
            Config config = new Config();
            // Each waiting thread has a subscription of its own; the default has room for 250 of them a client, and
            // a thread that finds none gets an exception.
            config.useSingleServer()
                    .setAddress(arguments[0])
                    .setSubscriptionConnectionPoolSize(50)
                    .setSubscriptionsPerConnection(100);
            CLIENTS.add(Redisson.create(config));
        }
        Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> FAILED.compareAndSet(null, failure));
        say("0", "{}");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            Args args = new Args();
            for (int i = 2; i < words.length; i++) {
                String[] pair = words[i].split("=", 2);
                args.put(pair[0], pair[1]);
            }
            THREADS.execute(() -> perform(words[0], words[1], args));
        }
        Runtime.getRuntime().halt(0);
    }

    private static void perform(String id, String verb, Args args) {
        try {
            String result = run(verb, args);
            if (FAILED.get() != null) throw new IllegalStateException("an asker failed: " + FAILED.get());
            say(id, result);
        } catch (Exception e) {
            say(id, "{\"error\":\"" + String.valueOf(e).replaceAll("[\"\\\\\\n]", "'") + "\"}");
        }
    }

    private static String run(String verb, Args args) throws Exception {
        switch (verb) {
            case "cycles":
                return cycles(args);
            case "hot":
                return hot(args);
            case "loop":
                return loop(args);
            case "share":
                return share(args);
            case "hold":
                return hold(args);
            case "release":
                return "{\"at\":" + release(args.get("key")) + "}";
            case "enqueue":
                return enqueue(args);
            case "drained":
                return drained(args.get("key"), Double.NaN);
            case "drain":
                return drained(args.get("key"), release(args.get("key")));
            case "close":
                CLIENTS.forEach(RedissonClient::shutdown);
                return "{}";
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private static String cycles(Args args) throws Exception {
        int concurrency = args.number("concurrency");
        int each = (args.number("count") + concurrency - 1) / concurrency;
        boolean fresh = args.flag("fresh");
        String prefix = args.get("prefix");
        double[][] times = new double[concurrency][each];
        CountDownLatch ready = new CountDownLatch(concurrency);
        CountDownLatch start = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(concurrency);
        for (int i = 0; i < concurrency; i++) {
            int asker = i;
            THREADS.execute(() -> {
                ready.countDown();
                await(start);
                for (int n = 0; n < each; n++) {
                    RLock lock = lock(asker, fresh ? prefix + "-" + asker + "-" + n : prefix + "-" + asker);
                    double asked = stamp();
                    lock.lock();
                    lock.unlock();
                    times[asker][n] = stamp() - asked;
                }
                done.countDown();
            });
        }
        ready.await();
        double from = stamp();
        start.countDown();
        done.await();
        double ms = stamp() - from;
        double[] sorted = Arrays.stream(times).flatMapToDouble(Arrays::stream).sorted().toArray();
        return "{\"ms\":" + ms + ",\"cycles\":" + sorted.length + ",\"p50\":" + sorted[sorted.length / 2] + "}";
    }

    private static String hot(Args args) throws Exception {
        String key = args.get("key");
        AtomicLong cycles = new AtomicLong();
        AtomicLong longest = new AtomicLong();
        AtomicLong refused = new AtomicLong();
        double begin = stamp() + args.number("warmUp");
        double end = begin + args.number("ms");
        for (int i = 0; i < args.number("askers"); i++) {
            RLock lock = lock(i, key);
            THREADS.execute(() -> {
                for (double asked = stamp(); asked < end; asked = stamp()) {
                    try {
                        lock.lock();
                    } catch (RuntimeException e) {
                        refused.incrementAndGet();
                        continue;
                    }
                    double granted = stamp();
                    if (granted >= begin && granted < end) {
                        cycles.incrementAndGet();
                        longest.accumulateAndGet((long) (1e6 * (granted - asked)), Math::max);
                    }
                    lock.unlock();
                }
            });
        }
        Thread.sleep(args.number("warmUp") + args.number("ms"));
        return "{\"cycles\":" + cycles.get() + ",\"longestWait\":" + longest.get() / 1e6
                + ",\"refused\":" + refused.get() + "}";
    }

    private static String loop(Args args) throws Exception {
        RLock lock = lock(0, args.get("key"));
        List<double[]> records = new ArrayList<>();
        for (double end = stamp() + args.number("ms"); stamp() < end; ) {
            double asked = stamp();
            lock.lock();
            double granted = stamp();
            Thread.sleep(args.number("hold"));
            double released = stamp();
            lock.unlock();
            records.add(new double[] {asked, granted, released});
        }
        return json(records);
    }

    /** What a lock for several at a time does for one asker. */
    private interface Shared {
        /** Waits as long as it takes; returns what releases it. */
        Runnable take() throws InterruptedException;
    }

    /** Redisson's semaphore with permits that expire, the one that a crash does not empty for ever; nothing renews them. */
    private static Shared permits(RedissonClient client, String key, int permits) {
        RPermitExpirableSemaphore semaphore = client.getPermitExpirableSemaphore(key);
        semaphore.trySetPermits(permits);
        return () -> {
            String permit = semaphore.acquire(30, TimeUnit.SECONDS);
            return () -> semaphore.release(permit);
        };
    }

    private static Shared readWrite(RedissonClient client, String key, String mode) {
        RReadWriteLock both = client.getReadWriteLock(key);
        RLock lock = mode.equals("read") ? both.readLock() : both.writeLock();
        return () -> {
            lock.lock();
            return lock::unlock;
        };
    }

    private static String share(Args args) throws Exception {
        List<double[]> records = Collections.synchronizedList(new ArrayList<>());
        double end = stamp() + args.number("ms");
        int askers = args.number("askers");
        CountDownLatch done = new CountDownLatch(askers);
        for (int i = 0; i < askers; i++) {
            RedissonClient client = CLIENTS.get(i % CLIENTS.size());
            String key = args.get("key");
            Shared shared = args.containsKey("mode")
                    ? readWrite(client, key, args.get("mode"))
                    : permits(client, key, args.number("permits"));
            THREADS.execute(() -> {
                try {
                    while (stamp() < end) {
                        double asked = stamp();
                        Runnable release = shared.take();
                        double granted = stamp();
                        Thread.sleep(args.number("hold"));
                        double released = stamp();
                        release.run();
                        records.add(new double[] {asked, granted, released});
                    }
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                } finally {
                    done.countDown();
                }
            });
        }
        done.await();
        return json(records);
    }

    private static String json(List<double[]> records) {
        return "{\"records\":[" + records.stream()
                .map(record -> "[" + record[0] + "," + record[1] + "," + record[2] + "]")
                .collect(Collectors.joining(",")) + "]}";
    }

    private static String hold(Args args) throws Exception {
        String key = args.get("key");
        ExecutorService holder = Executors.newSingleThreadExecutor();
        HOLDERS.put(key, holder);
        holder.submit(() -> lock(0, key).lock()).get();
        return "{}";
    }

    /** Resolves to the stamp of its beginning. */
    private static double release(String key) throws Exception {
        ExecutorService holder = HOLDERS.remove(key);
        double[] at = new double[1];
        holder.submit(() -> {
            at[0] = stamp();
            lock(0, key).unlock();
        }).get();
        holder.shutdown();
        return at[0];
    }

    private static String enqueue(Args args) throws Exception {
        String key = args.get("key");
        int count = args.number("count");
        int perClient = (count + CLIENTS.size() - 1) / CLIENTS.size();
        IntFunction<Integer> clientOf = args.flag("blocks") ? i -> i / perClient : i -> i % CLIENTS.size();
        Line line = new Line(count);
        LINES.put(key, line);
        for (int i = 0; i < count; i++) {
            int number = i;
            RLock lock = lock(clientOf.apply(i), key);
            int before = queued(key);
            THREADS.execute(() -> {
                lock.lock();
                synchronized (line) {
                    line.lastAt = stamp();
                    if (line.firstAt == 0) line.firstAt = line.lastAt;
                    line.granted.add(number);
                }
                lock.unlock();
                line.left.countDown();
            });
            while (queued(key) == before) Thread.sleep(0, 200_000);
        }
        return "{}";
    }

    private static String drained(String key, double from) throws Exception {
        Line line = LINES.remove(key);
        line.left.await();
        return "{\"ms\":" + (Double.isNaN(from) ? 0 : line.lastAt - from) + ",\"firstAt\":" + line.firstAt + ",\"lastAt\":"
                + line.lastAt + ",\"order\":" + line.granted + "}";
    }

    private static RLock lock(int asker, String key) {
        return CLIENTS.get(asker % CLIENTS.size()).getFairLock(key);
    }

    private static int queued(String key) {
        return CLIENTS.get(0).getList("redisson_lock_queue:{" + key + "}", StringCodec.INSTANCE).size();
    }

    private static double stamp() {
        return System.nanoTime() / 1e6;
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static synchronized void say(String id, String json) {
        System.out.println(id + " " + json);
        System.out.flush();
    }
}
