import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Copies a topic within transactions: BOOTSTRAP GROUP SOURCE TARGET ABORT-EVERY.
 *
 * What it does and says is told in transactions/copier_confluent.py.
 */
public final class Copier {
    private static final Duration POLL = Duration.ofMillis(200);

    private final KafkaProducer<byte[], byte[]> producer;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final String target;
    private final int abortEvery;
    private int count;

    private Copier(String bootstrap, String group, String target, int abortEvery) {
        this.target = target;
        this.abortEvery = abortEvery;
        Properties common = new Properties();
        common.put("bootstrap.servers", bootstrap);
        common.put("reconnect.backoff.max.ms", "500");
        Properties writing = new Properties();
        writing.putAll(common);
        writing.put("transactional.id", "copier of " + group);
        writing.put("transaction.timeout.ms", "20000");
        producer = new KafkaProducer<>(writing, new ByteArraySerializer(), new ByteArraySerializer());
        Properties reading = new Properties();
        reading.putAll(common);
        reading.put("group.id", group);
        reading.put("group.instance.id", "copier");
        reading.put("enable.auto.commit", "false");
        reading.put("auto.offset.reset", "earliest");
        reading.put("isolation.level", "read_committed");
        reading.put("max.poll.records", "50");
        consumer = new KafkaConsumer<>(reading, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    public static void main(String[] arguments) {
        AtomicBoolean stopped = new AtomicBoolean();
        Thread listener = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (IOException broken) {
                // It is over as well.
            }
            stopped.set(true);
        });
        listener.setDaemon(true);
        listener.start();
        Copier copier = new Copier(arguments[0], arguments[1], arguments[3], Integer.parseInt(arguments[4]));
        copier.run(arguments[2], stopped);
        System.exit(0);
    }

    private void run(String source, AtomicBoolean stopped) {
        producer.initTransactions();
        consumer.subscribe(List.of(source));
        while (!stopped.get()) {
            ConsumerRecords<byte[], byte[]> batch = consumer.poll(POLL);
            if (batch.isEmpty()) {
                continue;
            }
            try {
                copy(batch);
            } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException fatal) {
                throw fatal;
            } catch (KafkaException failed) {
                abort(batch);
            }
        }
        consumer.close();
        producer.close();
    }

    private void copy(ConsumerRecords<byte[], byte[]> batch) {
        count++;
        producer.beginTransaction();
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : batch) {
            producer.send(new ProducerRecord<>(target, record.partition(), null, record.value()));
            offsets.put(new TopicPartition(record.topic(), record.partition()),
                    new OffsetAndMetadata(record.offset() + 1));
        }
        if (count % abortEvery == 0) {
            producer.flush();
            abort(batch);
            System.out.println("aborted " + batch.count());
            return;
        }
        producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
        producer.commitTransaction();
        System.out.println("copied " + batch.count());
    }

    private void abort(ConsumerRecords<byte[], byte[]> batch) {
        producer.abortTransaction();
        for (TopicPartition partition : batch.partitions()) {
            consumer.seek(partition, batch.records(partition).get(0).offset());
        }
    }
}
