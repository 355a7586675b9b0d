import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.FeatureMetadata;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.LogDirDescription;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ReplicaInfo;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * The calls that web consoles make to show a cluster, each printed as lines that two brokers can share.
 *
 * AKHQ, Kafka UI and Kafdrop use this very client; Redpanda Console sends the same requests with another.
 * Arguments: bootstrap server, topic.
 */
public class ConsoleCalls {
    private interface Call {
        void print() throws Exception;
    }

    private static Admin admin;

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("request.timeout.ms", "10000");
        properties.put("default.api.timeout.ms", "15000");
        try (Admin made = Admin.create(properties)) {
            admin = made;
            section("cluster", ConsoleCalls::cluster);
            section("features", ConsoleCalls::features);
            section("quorum", ConsoleCalls::quorum);
            section("topics", () -> topics(topic));
            section("topic", () -> topic(topic));
            section("topic configs", () -> configs(new ConfigResource(ConfigResource.Type.TOPIC, topic)));
            section("broker configs", () -> configs(new ConfigResource(ConfigResource.Type.BROKER, "1")));
            section("cluster configs", () -> configs(new ConfigResource(ConfigResource.Type.BROKER, "")));
            section("unknown topic", () -> admin.describeTopics(List.of("missing")).allTopicNames().get());
            section("unknown topic's configs",
                () -> configs(new ConfigResource(ConfigResource.Type.TOPIC, "missing")));
            section("offsets", () -> offsets(topic));
            section("log directories", () -> logDirs(topic));
            section("reassignments", () -> say(admin.listPartitionReassignments().reassignments().get()));
            section("config resources", () -> resources(topic));
            section("groups", () -> say(admin.listGroups().all().get()));
            section("acls", () -> admin.describeAcls(AclBindingFilter.ANY).values().get());
            section("producers", () -> say(new TreeMap<>(producers(topic))));
        }
        section("messages", () -> messages(arguments[0], topic));
    }

    private static void section(String name, Call call) throws Exception {
        System.out.println("# " + name);
        try {
            call.print();
        } catch (ExecutionException failed) {
            System.out.println(failed.getCause().getClass().getSimpleName() + ": "
                + failed.getCause().getMessage());
        }
    }

    private static void say(Object value) {
        System.out.println(value);
    }

    private static void cluster() throws Exception {
        DescribeClusterResult result =
            admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true));
        say("nodes " + result.nodes().get().size() + ", controller " + result.controller().get().id()
            + ", cluster id of " + result.clusterId().get().length() + " characters");
        for (Node node : result.nodes().get()) {
            say("node " + node.id() + " at " + node.host() + ", rack " + node.rack()
                + (node.isFenced() ? ", fenced" : ""));
        }
        say("operations " + new TreeSet<>(result.authorizedOperations().get()));
    }

    private static void features() throws Exception {
        FeatureMetadata metadata = admin.describeFeatures().featureMetadata().get();
        say("finalized " + new TreeMap<>(metadata.finalizedFeatures()));
        say("supported " + new TreeMap<>(metadata.supportedFeatures()));
        say("epoch " + metadata.finalizedFeaturesEpoch().isPresent());
    }

    private static void quorum() throws Exception {
        var quorum = admin.describeMetadataQuorum().quorumInfo().get();
        say("leader " + quorum.leaderId() + ", voters " + quorum.voters().size()
            + ", observers " + quorum.observers().size() + ", nodes " + quorum.nodes().keySet());
    }

    private static void topics(String topic) throws Exception {
        var listings = admin.listTopics(new ListTopicsOptions().listInternal(true)).namesToListings().get();
        say(topic + " listed " + listings.containsKey(topic) + ", internal " + listings.get(topic).isInternal());
    }

    private static void topic(String name) throws Exception {
        DescribeTopicsOptions options = new DescribeTopicsOptions().includeAuthorizedOperations(true);
        TopicDescription topic = admin.describeTopics(List.of(name), options).allTopicNames().get().get(name);
        say(topic.name() + " internal " + topic.isInternal() + ", operations "
            + new TreeSet<>(topic.authorizedOperations()));
        for (TopicPartitionInfo partition : topic.partitions()) {
            say(partition.partition() + " leader " + partition.leader().id() + ", replicas "
                + ids(partition.replicas()) + ", isr " + ids(partition.isr()) + ", elr " + partition.elr()
                + ", last known elr " + partition.lastKnownElr());
        }
        var byId = admin.describeTopics(org.apache.kafka.common.TopicCollection.ofTopicIds(
            List.of(topic.topicId()))).allTopicIds().get();
        say("by id " + byId.get(topic.topicId()).name());
    }

    private static List<Integer> ids(List<Node> nodes) {
        List<Integer> ids = new ArrayList<>();
        nodes.forEach(node -> ids.add(node.id()));
        return ids;
    }

    private static void configs(ConfigResource resource) throws Exception {
        DescribeConfigsOptions options =
            new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        Config config = admin.describeConfigs(List.of(resource), options).all().get().get(resource);
        Map<String, String> lines = new TreeMap<>();
        for (ConfigEntry entry : config.entries()) {
            lines.put(entry.name(), entry.name() + "=" + entry.value() + " " + entry.source() + " "
                + entry.type() + (entry.isReadOnly() ? " read-only" : "")
                + (entry.isSensitive() ? " sensitive" : "")
                + (entry.documentation() == null ? " undocumented" : "") + " " + entry.synonyms());
        }
        lines.values().forEach(ConsoleCalls::say);
    }

    private static List<TopicPartition> partitions(String topic) throws Exception {
        List<TopicPartition> found = new ArrayList<>();
        admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions()
            .forEach(partition -> found.add(new TopicPartition(topic, partition.partition())));
        return found;
    }

    private static void offsets(String topic) throws Exception {
        Map<String, OffsetSpec> specs = new TreeMap<>(Map.of(
            "earliest", OffsetSpec.earliest(), "latest", OffsetSpec.latest()));
        for (Map.Entry<String, OffsetSpec> spec : specs.entrySet()) {
            Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
            partitions(topic).forEach(partition -> asked.put(partition, spec.getValue()));
            Map<String, String> lines = new TreeMap<>();
            Map<TopicPartition, ListOffsetsResultInfo> told = admin.listOffsets(asked).all().get();
            told.forEach((partition, info) -> lines.put(partition.toString(), info.offset() + " epoch "
                + info.leaderEpoch()));
            say(spec.getKey() + " " + lines);
        }
    }

    private static void logDirs(String topic) throws Exception {
        Map<String, LogDirDescription> dirs =
            admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1);
        // How large a log is depends on how the producer's records fell into batches.
        Map<String, String> lines = new TreeMap<>();
        for (LogDirDescription dir : dirs.values()) {
            say("error " + dir.error() + ", total " + dir.totalBytes().isPresent() + ", usable "
                + dir.usableBytes().isPresent() + ", cordoned " + dir.isCordoned());
            for (Map.Entry<TopicPartition, ReplicaInfo> replica : dir.replicaInfos().entrySet()) {
                if (replica.getKey().topic().equals(topic)) {
                    lines.put(replica.getKey().toString(), (replica.getValue().size() > 0) + ", lag "
                        + replica.getValue().offsetLag() + ", future " + replica.getValue().isFuture());
                }
            }
        }
        lines.forEach((partition, line) -> say(partition + " " + line));
    }

    private static void resources(String topic) throws Exception {
        Collection<ConfigResource> told = admin.listConfigResources().all().get();
        say(told.contains(new ConfigResource(ConfigResource.Type.TOPIC, topic))
            + " " + told.contains(new ConfigResource(ConfigResource.Type.BROKER, "1")));
    }

    private static Map<String, Integer> producers(String topic) throws Exception {
        Map<String, Integer> counts = new HashMap<>();
        admin.describeProducers(partitions(topic)).all().get().forEach(
            (partition, state) -> counts.put(partition.toString(), state.activeProducers().size()));
        return counts;
    }

    private static void messages(String bootstrap, String topic) {
        Properties properties = new Properties();
        properties.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        properties.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        properties.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, "500");
        try (KafkaConsumer<byte[], byte[]> consumer =
                 new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (PartitionInfo info : consumer.partitionsFor(topic)) {
                partitions.add(new TopicPartition(topic, info.partition()));
            }
            partitions.sort((a, b) -> a.partition() - b.partition());
            Map<TopicPartition, Long> begins = consumer.beginningOffsets(partitions);
            say("begin " + new TreeMap<>(text(begins)));
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            say("end " + new TreeMap<>(text(ends)));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long wanted = partitions.stream().mapToLong(one -> ends.get(one) - begins.get(one)).sum();
            List<String> lines = new ArrayList<>();
            for (int tries = 0; tries < 50 && lines.size() < wanted; tries++) {
                consumer.poll(Duration.ofMillis(200)).forEach(record -> lines.add(record.partition() + "@"
                    + record.offset() + " " + record.serializedKeySize() + "+" + record.serializedValueSize()));
            }
            Collections.sort(lines);
            lines.forEach(ConsoleCalls::say);
        }
    }

    private static Map<String, Long> text(Map<TopicPartition, Long> offsets) {
        Map<String, Long> named = new HashMap<>();
        offsets.forEach((partition, offset) -> named.put(partition.toString(), offset));
        return named;
    }
}
