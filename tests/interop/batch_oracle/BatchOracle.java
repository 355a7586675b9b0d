import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.CRC32;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;

/**
 * Apache Kafka's own record batch classes, as the other side of ours.
 *
 * write DIR writes the golden batches, one file each: the records are those of tests/batch_records.py.
 * read FILE... prints what Kafka reads in each file, a line a batch and a record.
 */
public class BatchOracle {
    static final long BASE_TIMESTAMP = 1700000000000L;

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("write")) {
            write(Path.of(arguments[1]));
        } else {
            for (String file : Arrays.asList(arguments).subList(1, arguments.length)) {
                read(new File(file));
            }
        }
    }

    static void write(Path folder) throws Exception {
        for (CompressionType type : CompressionType.values()) {
            save(folder, type.name, records(builder(type, TimestampType.CREATE_TIME, -1L, -1L, (short) -1, -1, false)));
        }
        save(folder, "log_append_time",
            records(builder(CompressionType.NONE, TimestampType.LOG_APPEND_TIME, BASE_TIMESTAMP + 77, -1L, (short) -1, -1, false)));
        save(folder, "transactional",
            records(builder(CompressionType.NONE, TimestampType.CREATE_TIME, -1L, 4711L, (short) 3, 2147483640, true)));
        EndTransactionMarker marker = new EndTransactionMarker(ControlRecordType.COMMIT, 9);
        save(folder, "commit_marker",
            MemoryRecords.withEndTransactionMarker(42L, BASE_TIMESTAMP, 5, 4711L, (short) 3, marker));
    }

    static MemoryRecordsBuilder builder(CompressionType type, TimestampType timestampType, long appendTime,
                                        long producerId, short epoch, int sequence, boolean transactional) {
        return MemoryRecords.builder(ByteBuffer.allocate(1 << 20), RecordBatch.CURRENT_MAGIC_VALUE,
            Compression.of(type).build(), timestampType, 0L, appendTime, producerId, epoch, sequence, transactional,
            false, RecordBatch.NO_PARTITION_LEADER_EPOCH);
    }

    static MemoryRecords records(MemoryRecordsBuilder builder) {
        for (int i = 0; i < 100; i++) {
            byte[] key = i % 7 == 0 ? null : ("key-" + i).getBytes(StandardCharsets.UTF_8);
            byte[] value = i % 11 == 0 ? null : "v".repeat(i * i % 150).getBytes(StandardCharsets.UTF_8);
            Header[] headers = new Header[i % 3];
            for (int h = 0; h < headers.length; h++) {
                headers[h] = new RecordHeader("h" + h, h == 0 ? ("x" + i).getBytes(StandardCharsets.UTF_8) : null);
            }
            builder.append(BASE_TIMESTAMP + (long) (i * 37 % 100) * i, key, value, headers);
        }
        return builder.build();
    }

    static void save(Path folder, String name, MemoryRecords records) throws Exception {
        ByteBuffer buffer = records.buffer().duplicate();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        Files.write(folder.resolve(name + ".batch"), bytes);
    }

    static void read(File file) throws Exception {
        System.out.println("file " + file.getName());
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(Files.readAllBytes(file.toPath())));
        for (MutableRecordBatch batch : records.batches()) {
            batch.ensureValid();
            System.out.println("batch " + batch.baseOffset() + " " + batch.lastOffset() + " " + batch.compressionType().name
                + " " + batch.timestampType().name + " " + batch.maxTimestamp() + " " + batch.producerId() + " "
                + batch.producerEpoch() + " " + batch.baseSequence() + " " + batch.isTransactional() + " "
                + batch.isControlBatch() + " " + batch.countOrNull());
            for (Record record : batch) {
                StringBuilder line = new StringBuilder("record " + record.offset() + " " + record.timestamp() + " "
                    + digest(record.key()) + " " + digest(record.value()));
                for (Header header : record.headers()) {
                    ByteBuffer value = header.value() == null ? null : ByteBuffer.wrap(header.value());
                    line.append(" ").append(header.key()).append("=").append(digest(value));
                }
                System.out.println(line);
            }
        }
    }

    static String digest(ByteBuffer buffer) {
        if (buffer == null) {
            return "null";
        }
        CRC32 crc = new CRC32();
        int size = buffer.remaining();
        crc.update(buffer.duplicate());
        return size + ":" + Long.toHexString(crc.getValue());
    }
}
