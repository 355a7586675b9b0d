import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Reads messages with Apache Kafka's own generated classes. For each input line "class version hex" one
 * output line: "ok", the bytes left unread, what Kafka encodes from what it read, and the same as JSON;
 * or "error" and the reason. With "new" for the bytes it shows a message of defaults.
 */
public final class MessageOracle {
    private MessageOracle() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream output = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ", -1);
            output.println(answer(words[0], Short.parseShort(words[1]), words[2]));
        }
        output.flush();
    }

    private static String answer(String className, short version, String hex) throws Exception {
        Message message = (Message) Class.forName(className).getConstructor().newInstance();
        int left = 0;
        try {
            if (!hex.equals("new")) {
                ByteBuffer buffer = ByteBuffer.wrap(HexFormat.of().parseHex(hex));
                message.read(new ByteBufferAccessor(buffer), version);
                left = buffer.remaining();
            }
            JsonNode json = json(className, message, version);
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer written = ByteBuffer.allocate(message.size(cache, version));
            message.write(new ByteBufferAccessor(written), cache, version);
            String encoded = HexFormat.of().formatHex(written.array(), 0, written.position());
            return "ok " + left + " " + encoded + " " + json;
        } catch (RuntimeException error) {
            return "error " + String.valueOf(error).replace('\n', ' ');
        }
    }

    private static JsonNode json(String className, Message message, short version) throws Exception {
        Class<?> messageClass = Class.forName(className);
        Method write = Class.forName(className + "JsonConverter")
            .getMethod("write", messageClass, short.class, boolean.class);
        try {
            return (JsonNode) write.invoke(null, message, version, false);
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw error;
        }
    }
}
