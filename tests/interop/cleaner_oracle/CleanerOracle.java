import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LastRecord;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Cleans logs with Apache Kafka's own log cleaner.
 *
 * A line of standard input is one log and its cleanings, words separated by blanks: the partition's directory,
 * whose .log files are recovered first; first uncleanable offset; high watermark; segment.bytes;
 * index.interval.bytes; delete.retention.ms; size of the I/O buffer; and per cleaning NOW_MS:MAP_ENTRIES. After
 * each cleaning the segments are copied into the directory's sub-directory of the cleaning's number, and a line
 * "cleaned NUMBER OFFSET bytesRead bytesWritten mapMessagesRead messagesRead invalidMessagesRead messagesWritten"
 * is printed; before the first one a line "producer ID EPOCH LAST_DATA_OFFSET" for each.
 */
public final class CleanerOracle {
    private CleanerOracle() {
    }

    public static void main(String[] arguments) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            clean(line.split(" "), scheduler);
        }
        scheduler.shutdown();
        System.exit(0);
    }

    private static Time at(long[] nowMs) {
        return (Time) Proxy.newProxyInstance(
            Time.class.getClassLoader(),
            new Class<?>[] {Time.class},
            (proxy, method, given) ->
                method.getName().equals("milliseconds") ? nowMs[0] : method.invoke(Time.SYSTEM, given));
    }

    private static void clean(String[] words, KafkaScheduler scheduler) throws Exception {
        File directory = new File(words[0]);
        long firstUncleanableOffset = Long.parseLong(words[1]);
        Map<String, String> config = new HashMap<>();
        config.put("cleanup.policy", "compact");
        config.put("internal.segment.bytes", words[3]);
        config.put("index.interval.bytes", words[4]);
        config.put("delete.retention.ms", words[5]);
        config.put("segment.index.bytes", "1048576");
        long[] nowMs = {Long.parseLong(words[7].split(":")[0])};
        Time time = at(nowMs);
        UnifiedLog log = UnifiedLog.create(
            directory, new LogConfig(config), 0L, 0L, scheduler, new BrokerTopicStats(), time, 900000,
            new ProducerStateManagerConfig(Integer.MAX_VALUE, false), Integer.MAX_VALUE,
            new LogDirFailureChannel(1), false, Optional.empty());
        log.updateHighWatermark(Long.parseLong(words[2]));
        for (Map.Entry<Long, LastRecord> entry : new TreeMap<>(log.lastRecordsOfActiveProducers()).entrySet()) {
            System.out.println("producer " + entry.getKey() + " " + entry.getValue().producerEpoch() + " "
                + entry.getValue().lastDataOffset().orElse(-1));
        }
        long firstDirtyOffset = 0;
        for (int number = 7; number < words.length; number++) {
            String[] cleaning = words[number].split(":");
            nowMs[0] = Long.parseLong(cleaning[0]);
            SkimpyOffsetMap map = new SkimpyOffsetMap(24 * Integer.parseInt(cleaning[1]));
            int buffer = Integer.parseInt(words[6]);
            Cleaner cleaner = new Cleaner(
                0, map, buffer, 1 << 24, 1.0, new Throttler(1e12, 300, "throttler", "entries", Time.SYSTEM), time,
                partition -> { });
            Map.Entry<Long, CleanerStats> done = cleaner.doClean(
                new LogToClean(log, firstDirtyOffset, firstUncleanableOffset, false), nowMs[0]);
            firstDirtyOffset = done.getKey();
            long cleanedTo = firstDirtyOffset;
            firstDirtyOffset = cleanedTo < firstUncleanableOffset ? cleanedTo : 0;
            copySegments(log, new File(directory, Integer.toString(number - 7)));
            CleanerStats stats = done.getValue();
            System.out.println("cleaned " + (number - 7) + " " + cleanedTo + " " + stats.bytesRead() + " "
                + stats.bytesWritten() + " " + stats.mapMessagesRead() + " " + stats.messagesRead() + " "
                + stats.invalidMessagesRead() + " " + stats.messagesWritten());
        }
        log.close();
    }

    private static void copySegments(UnifiedLog log, File target) throws Exception {
        target.mkdir();
        for (LogSegment segment : log.logSegments()) {
            File[] files = {
                segment.log().file(), segment.offsetIndexFile(), segment.timeIndexFile(), segment.txnIndex().file(),
            };
            segment.flush();
            for (File file : files) {
                if (file.exists()) {
                    java.nio.file.Files.copy(file.toPath(), new File(target, file.getName()).toPath());
                }
            }
        }
    }
}
