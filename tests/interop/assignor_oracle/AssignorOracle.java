import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.Utils;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Answers each line of standard input with one line. Words are separated by tabs, "-" is nothing.
 *
 * assign NAME SAME|MIXED TOPICS MEMBERS: TOPICS is id=partitions;..., MEMBERS is
 * member:instance:id,id:id=p.p.p,...;... and the answer is member:id=p.p.p,...;...
 * hash TOPICS: TOPICS is id:name:partition racks by comma, a partition's joined by dots;... and the answer
 * is the hash of each topic and of all.
 */
public final class AssignorOracle {
    public static void main(String[] args) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split("\t", -1);
            System.out.println(words[0].equals("hash") ? hash(words[1]) : assign(words));
        }
    }

    private static String assign(String[] words) {
        Map<Uuid, Integer> counts = new HashMap<>();
        for (String topic : list(words[3], ";")) {
            String[] parts = topic.split("=");
            counts.put(Uuid.fromString(parts[0]), Integer.parseInt(parts[1]));
        }
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new LinkedHashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        for (String member : list(words[4], ";")) {
            String[] parts = member.split(":", -1);
            Set<Uuid> topics = new HashSet<>();
            for (String id : list(parts[2], ",")) {
                topics.add(Uuid.fromString(id));
            }
            Map<Uuid, Set<Integer>> target = partitions(parts[3]);
            target.forEach((id, numbers) -> numbers.forEach(number ->
                owners.computeIfAbsent(id, __ -> new HashMap<>()).put(number, parts[0])));
            Optional<String> instance = parts[1].equals("-") ? Optional.empty() : Optional.of(parts[1]);
            members.put(parts[0], new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), instance, topics, new Assignment(target)));
        }
        SubscriptionType type =
            words[2].equals("SAME") ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        ConsumerGroupPartitionAssignor assignor =
            words[1].equals("range") ? new RangeAssignor() : new UniformAssignor();
        GroupAssignment assignment = assignor.assign(
            new GroupSpecImpl(members, type, owners), new SubscribedTopicDescriber() {
                @Override
                public int numPartitions(Uuid topicId) {
                    return counts.getOrDefault(topicId, -1);
                }

                @Override
                public Set<String> racksForPartition(Uuid topicId, int partition) {
                    return Set.of();
                }
            });
        List<String> told = new ArrayList<>();
        for (String member : new TreeSet<>(members.keySet())) {
            Map<Uuid, Set<Integer>> given = assignment.members().containsKey(member)
                ? assignment.members().get(member).partitions() : Map.of();
            told.add(member + ":" + text(given));
        }
        return String.join(";", told);
    }

    private static Map<Uuid, Set<Integer>> partitions(String text) {
        Map<Uuid, Set<Integer>> made = new HashMap<>();
        for (String topic : list(text, ",")) {
            String[] parts = topic.split("=");
            Set<Integer> numbers = new TreeSet<>();
            for (String number : parts[1].split("\\.")) {
                numbers.add(Integer.parseInt(number));
            }
            made.put(Uuid.fromString(parts[0]), numbers);
        }
        return made;
    }

    private static String text(Map<Uuid, Set<Integer>> partitions) {
        Map<String, String> sorted = new TreeMap<>();
        partitions.forEach((id, numbers) -> {
            if (!numbers.isEmpty()) {
                List<String> written = new ArrayList<>();
                new TreeSet<>(numbers).forEach(number -> written.add(number.toString()));
                sorted.put(id.toString(), String.join(".", written));
            }
        });
        List<String> topics = new ArrayList<>();
        sorted.forEach((id, numbers) -> topics.add(id + "=" + numbers));
        return topics.isEmpty() ? "-" : String.join(",", topics);
    }

    private static List<String> list(String text, String separator) {
        return text.equals("-") ? List.of() : List.of(text.split(separator));
    }

    private static String hash(String text) {
        Map<String, Topic> topics = new TreeMap<>();
        for (String topic : list(text, ";")) {
            String[] parts = topic.split(":", -1);
            List<List<String>> racks = new ArrayList<>();
            for (String partition : list(parts[2], ",")) {
                racks.add(partition.equals("0") ? List.of() : List.of(partition.split("\\.")));
            }
            topics.put(parts[1], new Topic(parts[1], Uuid.fromString(parts[0]), racks));
        }
        List<String> told = new ArrayList<>();
        Map<String, Long> hashes = new HashMap<>();
        topics.forEach((name, topic) -> {
            hashes.put(name, Utils.computeTopicHash(name, new OneTopic(topic)));
            told.add(hashes.get(name).toString());
        });
        told.add(Long.toString(Utils.computeGroupHash(hashes)));
        return String.join(" ", told);
    }

    private record Topic(String name, Uuid id, List<List<String>> racks)
        implements CoordinatorMetadataImage.TopicMetadata {
        @Override
        public int partitionCount() {
            return racks.size();
        }

        @Override
        public List<String> partitionRacks(int partition) {
            return new ArrayList<>(racks.get(partition));
        }
    }

    private record OneTopic(Topic topic) implements CoordinatorMetadataImage {
        @Override
        public Set<Uuid> topicIds() {
            return Set.of(topic.id());
        }

        @Override
        public Set<String> topicNames() {
            return Set.of(topic.name());
        }

        @Override
        public Optional<CoordinatorMetadataImage.TopicMetadata> topicMetadata(Uuid topicId) {
            return Optional.of(topic);
        }

        @Override
        public Optional<CoordinatorMetadataImage.TopicMetadata> topicMetadata(String topicName) {
            return Optional.of(topic);
        }

        @Override
        public CoordinatorMetadataDelta emptyDelta() {
            return null;
        }

        @Override
        public long version() {
            return 0;
        }

        @Override
        public boolean isEmpty() {
            return false;
        }
    }
}
