import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TopicExistsException;

/** What an administrator does with one topic, by the Java admin client; the answer is JSON. */
final class Administration {
    private static final String RETENTION = "retention.ms";

    private final Admin admin;
    private final String topic;
    private final ConfigResource resource;

    private Administration(Admin admin, String topic) {
        this.admin = admin;
        this.topic = topic;
        this.resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
    }

    static String administer(String bootstrap, String topic) throws Exception {
        Properties settings = new Properties();
        settings.setProperty(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        try (Admin admin = Admin.create(settings)) {
            return new Administration(admin, topic).run();
        }
    }

    private String run() throws Exception {
        create();
        String again = "made";
        try {
            create();
        } catch (ExecutionException failure) {
            again = failure.getCause() instanceof TopicExistsException ? "exists" : failure.getCause().toString();
        }
        int partitions = partitions();
        String configured = config();
        AlterConfigOp set = new AlterConfigOp(new ConfigEntry(RETENTION, "7200000"), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(set))).all().get();
        String altered = config();
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
        int grown = partitions();
        boolean listed = listed();
        admin.deleteTopics(List.of(topic)).all().get();
        return String.format(
                "{\"created\": true, \"again\": \"%s\", \"partitions\": %d, \"configured\": \"%s\", "
                        + "\"altered\": \"%s\", \"grown\": %d, \"listed\": %b, \"left\": %b}",
                again, partitions, configured, altered, grown, listed, listed());
    }

    private void create() throws Exception {
        NewTopic wanted = new NewTopic(topic, 2, (short) 1).configs(Map.of(RETENTION, "3600000"));
        admin.createTopics(List.of(wanted)).all().get();
    }

    private int partitions() throws Exception {
        return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
    }

    private String config() throws Exception {
        return admin.describeConfigs(List.of(resource)).all().get().get(resource).get(RETENTION).value();
    }

    private boolean listed() throws Exception {
        return admin.listTopics().names().get().contains(topic);
    }
}
