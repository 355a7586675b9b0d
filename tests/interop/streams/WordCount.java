import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Properties;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Counts words: lines in, counts out, through a repartition topic into a store with a changelog topic.
 *
 * Arguments: bootstrap server, application id, state directory, topic of lines, topic of counts, and a
 * processing guarantee when it is not to be at_least_once. It says
 * "running", and "restored NUMBER" for each store that was read back from its changelog; it ends cleanly with
 * its standard input.
 */
public final class WordCount implements StateRestoreListener {
    private WordCount() {}

    public static void main(String[] arguments) throws IOException {
        Properties properties = new Properties();
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
        properties.put(StreamsConfig.STATE_DIR_CONFIG, arguments[2]);
        properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 200);
        properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        properties.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        // Its members do not leave when they are closed, so a restart waits until their sessions have ended.
        properties.put(StreamsConfig.consumerPrefix("session.timeout.ms"), 6000);
        properties.put(StreamsConfig.consumerPrefix("heartbeat.interval.ms"), 500);

        if (arguments.length > 5) {
            properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, arguments[5]);
        }

        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(arguments[3], Consumed.with(Serdes.String(), Serdes.String()))
                .flatMapValues(line -> Arrays.asList(line.toLowerCase(Locale.ROOT).split(" ")))
                .groupBy((key, word) -> word, Grouped.with("words", Serdes.String(), Serdes.String()))
                .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("counts"))
                .toStream()
                .mapValues(String::valueOf)
                .to(arguments[4], Produced.with(Serdes.String(), Serdes.String()));
        KafkaStreams streams = new KafkaStreams(builder.build(), properties);
        streams.setGlobalStateRestoreListener(new WordCount());
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.RUNNING) {
                System.out.println("running");
            }
        });
        streams.start();
        while (System.in.read() >= 0) {
            Thread.onSpinWait();
        }
        boolean closed = streams.close(Duration.ofSeconds(30));
        System.exit(closed ? 0 : 1);
    }

    @Override
    public void onRestoreStart(TopicPartition partition, String store, long from, long to) {}

    @Override
    public void onBatchRestored(TopicPartition partition, String store, long to, long count) {}

    @Override
    public void onRestoreEnd(TopicPartition partition, String store, long count) {
        System.out.println("restored " + count);
    }
}
