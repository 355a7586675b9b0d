import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Queue;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A member of a consumer group; settings, commands and events are told in ../groups/talk.py. */
public final class GroupMember implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(100);

    private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private final Queue<String> commands = new ConcurrentLinkedQueue<>();
    private final Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
    private final KafkaConsumer<String, String> consumer;
    private final String topic;

    private GroupMember(Map<String, String> settings) {
        this.consumer = new KafkaConsumer<>(properties(settings), new StringDeserializer(), new StringDeserializer());
        this.topic = settings.get("topic");
    }

    public static void main(String[] arguments) throws InterruptedException {
        Map<String, String> settings = new HashMap<>();
        for (String word : arguments) {
            int equals = word.indexOf('=');
            settings.put(word.substring(0, equals), word.substring(equals + 1));
        }
        new GroupMember(settings).run();
    }

    private static Properties properties(Map<String, String> settings) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", settings.get("bootstrap"));
        properties.put("group.id", settings.get("group"));
        properties.put("group.protocol", settings.get("protocol"));
        properties.put("max.poll.interval.ms", settings.get("max_poll_ms"));
        properties.put("enable.auto.commit", "false");
        properties.put("auto.offset.reset", "earliest");
        properties.put("metadata.max.age.ms", "1000");
        if (settings.get("protocol").equals("classic")) {
            properties.put("session.timeout.ms", settings.get("session_ms"));
            properties.put("heartbeat.interval.ms", settings.get("heartbeat_ms"));
            if (!settings.get("strategy").isEmpty()) {
                properties.put("partition.assignment.strategy", settings.get("strategy"));
            }
        } else if (!settings.get("strategy").isEmpty()) {
            properties.put("group.remote.assignor", settings.get("strategy"));
        }
        if (!settings.get("instance").isEmpty()) {
            properties.put("group.instance.id", settings.get("instance"));
        }
        return properties;
    }

    private void run() throws InterruptedException {
        Thread reader = new Thread(this::readCommands);
        reader.setDaemon(true);
        reader.start();
        say("started", "");
        consumer.subscribe(List.of(topic), this);
        while (true) {
            String command = commands.poll();
            if (command != null) {
                String[] words = command.split(" ");
                switch (words[0]) {
                    case "close" -> {
                        say("closing", "");
                        consumer.close();
                        say("closed", "");
                        System.exit(0);
                    }
                    case "commit" -> commit(positions);
                    case "pause" -> {
                        say("paused", "");
                        Thread.sleep((long) (Double.parseDouble(words[1]) * 1000));
                        say("resumed", "");
                    }
                    default -> throw new IllegalArgumentException(command);
                }
            }
            take();
        }
    }

    private void readCommands() {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                commands.add(line);
            }
        } catch (IOException gone) {
            gone.printStackTrace();
        }
        Runtime.getRuntime().halt(3);
    }

    private void take() {
        Map<TopicPartition, OffsetAndMetadata> batch = new HashMap<>();
        for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
            say("record", ",\"partition\":" + record.partition() + ",\"offset\":" + record.offset() + ",\"value\":\""
                    + record.value() + "\"");
            batch.put(new TopicPartition(topic, record.partition()), new OffsetAndMetadata(record.offset() + 1));
        }
        positions.putAll(batch);
        commit(batch);
    }

    private void commit(Map<TopicPartition, OffsetAndMetadata> offsets) {
        if (offsets.isEmpty()) {
            return;
        }
        Map<Integer, Long> told = new TreeMap<>();
        offsets.forEach((partition, offset) -> told.put(partition.partition(), offset.offset()));
        List<String> words = new ArrayList<>();
        told.forEach((partition, offset) -> words.add("\"" + partition + "\":" + offset));
        String text = ",\"offsets\":{" + String.join(",", words) + "}";
        try {
            consumer.commitSync(offsets);
            say("committed", text);
        } catch (KafkaException failed) {
            say("commit-failed", text + ",\"error\":\"" + failed.getClass().getSimpleName() + "\"");
        }
    }

    private void say(String event, String rest) {
        Instant now = Instant.now();
        out.printf("{\"event\":\"%s\",\"at\":%d.%06d%s}%n", event, now.getEpochSecond(), now.getNano() / 1000, rest);
    }

    private void say(String event, Collection<TopicPartition> partitions) {
        TreeSet<Integer> numbers = new TreeSet<>();
        partitions.forEach(partition -> numbers.add(partition.partition()));
        say(event, ",\"partitions\":" + numbers);
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        say("assigned", partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        say("revoked", partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        say("lost", partitions);
    }
}
