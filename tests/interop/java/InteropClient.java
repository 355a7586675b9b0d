import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java producer and consumer as a servant of the Python tests.
 *
 * One JVM for many steps, since its start costs more than a step: each line of standard input is a
 * command, each line of standard output its answer ("ok ..." or "error ..."). Records travel in files,
 * in the layout that client_java.py also knows. Arguments hold no blanks.
 *
 *   produce          BOOTSTRAP TOPIC RECORDS-FILE OFFSETS-FILE [key=value ...]
 *   consume          BOOTSTRAP TOPIC COUNT PARTITION:OFFSET,... RECORDS-FILE [key=value ...]
 *   offsets-for-time BOOTSTRAP TOPIC PARTITIONS TIMESTAMP
 *   offset-range     BOOTSTRAP TOPIC PARTITIONS
 *   administer       BOOTSTRAP TOPIC
 *   parked           BOOTSTRAP FIRST-TOPIC SECOND-TOPIC MAX-WAIT-MS
 *   first-record     BOOTSTRAP TOPIC GROUP GROUP-PROTOCOL
 */
public final class InteropClient {
    private static final Duration DEADLINE = Duration.ofSeconds(60);

    private InteropClient() {}

    public static void main(String[] arguments) throws IOException {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            try {
                answers.println("ok " + run(line.split(" ")));
            } catch (Exception failure) {
                failure.printStackTrace();
                answers.println("error " + String.valueOf(failure).replace('\n', ' '));
            }
        }
    }

    private static String run(String[] words) throws Exception {
        return switch (words[0]) {
            case "produce" -> produce(words[1], words[2], Path.of(words[3]), Path.of(words[4]), settings(words, 5));
            case "consume" ->
                consume(words[1], words[2], Integer.parseInt(words[3]), words[4], Path.of(words[5]), settings(words, 6));
            case "offsets-for-time" ->
                offsetsForTime(words[1], words[2], Integer.parseInt(words[3]), Long.parseLong(words[4]));
            case "offset-range" -> offsetRange(words[1], words[2], Integer.parseInt(words[3]));
            case "parked" -> parked(words[1], List.of(words[2], words[3]), words[4]);
            case "first-record" -> firstRecord(words[1], words[2], words[3], words[4]);
            case "administer" -> Administration.administer(words[1], words[2]);
            default -> throw new IllegalArgumentException("unknown command " + words[0]);
        };
    }

    private static Properties settings(String[] words, int from) {
        Properties properties = new Properties();
        for (String word : Arrays.asList(words).subList(from, words.length)) {
            int equals = word.indexOf('=');
            properties.setProperty(word.substring(0, equals), word.substring(equals + 1));
        }
        return properties;
    }

    private static String produce(String bootstrap, String topic, Path in, Path out, Properties settings)
            throws Exception {
        settings.setProperty(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (DataInputStream records = new DataInputStream(new BufferedInputStream(Files.newInputStream(in)));
                KafkaProducer<byte[], byte[]> producer =
                        new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (ProducerRecord<byte[], byte[]> record = read(topic, records);
                    record != null;
                    record = read(topic, records)) {
                sent.add(producer.send(record));
            }
            producer.flush();
        }
        try (DataOutputStream offsets = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(out)))) {
            for (Future<RecordMetadata> future : sent) {
                RecordMetadata metadata = future.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
                offsets.writeLong(metadata.hasOffset() ? metadata.offset() : -1);
            }
        }
        return String.valueOf(sent.size());
    }

    private static String consume(
            String bootstrap, String topic, int count, String start, Path out, Properties settings) throws IOException {
        Map<TopicPartition, Long> offsets = new TreeMap<>((a, b) -> Integer.compare(a.partition(), b.partition()));
        for (String one : start.split(",")) {
            String[] pair = one.split(":");
            offsets.put(new TopicPartition(topic, Integer.parseInt(pair[0])), Long.parseLong(pair[1]));
        }
        int seen = 0;
        try (DataOutputStream records = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(out)));
                KafkaConsumer<byte[], byte[]> consumer = consumer(bootstrap, settings)) {
            consumer.assign(offsets.keySet());
            offsets.forEach(consumer::seek);
            long deadlineNanos = System.nanoTime() + DEADLINE.toNanos();
            while (seen < count) {
                if (System.nanoTime() > deadlineNanos) {
                    throw new IllegalStateException("the Java consumer has " + seen + " of " + count + " records");
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    write(record, records);
                    seen++;
                }
            }
        }
        return String.valueOf(seen);
    }

    private static String offsetsForTime(String bootstrap, String topic, int partitions, long timestamp) {
        Map<TopicPartition, Long> asked = new HashMap<>();
        for (TopicPartition partition : partitions(topic, partitions)) {
            asked.put(partition, timestamp);
        }
        StringJoiner answer = new StringJoiner(" ");
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(bootstrap, new Properties())) {
            Map<TopicPartition, OffsetAndTimestamp> found = consumer.offsetsForTimes(asked, DEADLINE);
            for (TopicPartition partition : partitions(topic, partitions)) {
                OffsetAndTimestamp one = found.get(partition);
                answer.add(partition.partition() + ":" + (one == null ? -1 : one.offset()));
            }
        }
        return answer.toString();
    }

    private static String offsetRange(String bootstrap, String topic, int partitions) {
        StringJoiner answer = new StringJoiner(" ");
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(bootstrap, new Properties())) {
            Map<TopicPartition, Long> first = consumer.beginningOffsets(partitions(topic, partitions), DEADLINE);
            Map<TopicPartition, Long> end = consumer.endOffsets(partitions(topic, partitions), DEADLINE);
            for (TopicPartition partition : partitions(topic, partitions)) {
                answer.add(partition.partition() + ":" + first.get(partition) + ":" + end.get(partition));
            }
        }
        return answer.toString();
    }

    /** How long a record of the second topic takes to a consumer that waits for both, and then its close. */
    /** Milliseconds from subscribing to the first record, as a group's first member. */
    private static String firstRecord(String bootstrap, String topic, String group, String protocol) {
        Properties properties = new Properties();
        properties.setProperty(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        properties.setProperty(ConsumerConfig.GROUP_ID_CONFIG, group);
        properties.setProperty(ConsumerConfig.GROUP_PROTOCOL_CONFIG, protocol);
        properties.setProperty(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            long started = System.nanoTime();
            consumer.subscribe(List.of(topic));
            while (consumer.poll(DEADLINE).isEmpty()) {
                if (System.nanoTime() - started > DEADLINE.toNanos()) {
                    throw new IllegalStateException("no record");
                }
            }
            return String.valueOf((System.nanoTime() - started) / 1_000_000);
        }
    }

    private static String parked(String bootstrap, List<String> topics, String maxWaitMs) throws Exception {
        Properties settings = new Properties();
        settings.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, maxWaitMs);
        Properties producing = new Properties();
        producing.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        KafkaConsumer<byte[], byte[]> consumer = consumer(bootstrap, settings);
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(producing, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.partitionsFor(topics.get(1));
            List<TopicPartition> both = topics.stream().map(topic -> new TopicPartition(topic, 0)).toList();
            consumer.assign(both);
            consumer.seekToEnd(both);
            both.forEach(consumer::position);
            consumer.poll(Duration.ofSeconds(1)); // finds nothing, and leaves a fetch waiting
            long produced = System.nanoTime();
            producer.send(new ProducerRecord<>(topics.get(1), 0, null, "woken".getBytes(StandardCharsets.UTF_8)));
            while (consumer.poll(Duration.ofMillis(100)).isEmpty()) {
                if (System.nanoTime() - produced > DEADLINE.toNanos()) {
                    throw new IllegalStateException("no record within " + DEADLINE);
                }
            }
            long arrived = System.nanoTime();
            consumer.poll(Duration.ofSeconds(1)); // waits again
            long closing = System.nanoTime();
            consumer.close();
            return (arrived - produced) / 1e6 + " " + (System.nanoTime() - closing) / 1e6;
        }
    }

    private static List<TopicPartition> partitions(String topic, int count) {
        List<TopicPartition> partitions = new ArrayList<>();
        for (int partition = 0; partition < count; partition++) {
            partitions.add(new TopicPartition(topic, partition));
        }
        return partitions;
    }

    private static KafkaConsumer<byte[], byte[]> consumer(String bootstrap, Properties settings) {
        settings.setProperty(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        settings.putIfAbsent(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        settings.putIfAbsent(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none");
        settings.putIfAbsent(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, "5000");
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static ProducerRecord<byte[], byte[]> read(String topic, DataInputStream in) throws IOException {
        int partition;
        try {
            partition = in.readInt();
        } catch (EOFException end) {
            return null;
        }
        long timestamp = in.readLong();
        byte[] key = readBytes(in);
        byte[] value = readBytes(in);
        List<Header> headers = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            headers.add(new RecordHeader(new String(readBytes(in), StandardCharsets.UTF_8), readBytes(in)));
        }
        return new ProducerRecord<>(topic, partition, timestamp, key, value, headers);
    }

    private static void write(ConsumerRecord<byte[], byte[]> record, DataOutputStream out) throws IOException {
        out.writeLong(record.offset());
        out.writeInt(record.partition());
        out.writeLong(record.timestamp());
        writeBytes(record.key(), out);
        writeBytes(record.value(), out);
        out.writeInt(record.headers().toArray().length);
        for (Header header : record.headers()) {
            writeBytes(header.key().getBytes(StandardCharsets.UTF_8), out);
            writeBytes(header.value(), out);
        }
    }

    private static byte[] readBytes(DataInputStream in) throws IOException {
        int length = in.readInt();
        return length < 0 ? null : in.readNBytes(length);
    }

    private static void writeBytes(byte[] bytes, DataOutputStream out) throws IOException {
        out.writeInt(bytes == null ? -1 : bytes.length);
        if (bytes != null) {
            out.write(bytes);
        }
    }
}
