import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs main methods one after the other, so that twenty tools cost one start of a JVM.
 *
 * A command is a line of tab-separated base64: what the tool reads, its class, its arguments. The answer is a
 * line, too: exit status, standard output, standard error.
 */
public class ToolRunner {
    /** Unwinds a tool that ends itself. Some catch it and end once more: the first status counts. */
    private static final class Stop extends Error {
        private static final long serialVersionUID = 1L;

        Stop(int status) {
            super("exit " + status, null, false, false);
            if (exitStatus == null) {
                exitStatus = status;
            }
        }
    }

    private static final List<Runnable> HOOKS = new ArrayList<>();
    private static Integer exitStatus;

    public static void main(String[] arguments) throws Exception {
        Exit.setExitProcedure((status, message) -> {
            throw new Stop(status);
        });
        Exit.setHaltProcedure((status, message) -> {
            throw new Stop(status);
        });
        Exit.setShutdownHookAdder((name, hook) -> HOOKS.add(hook));
        PrintStream answers = System.out;
        InputStream commands = System.in;
        BufferedReader reader = new BufferedReader(new InputStreamReader(commands, StandardCharsets.UTF_8));
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
            answers.println(run(line.split("\t", -1)));
            answers.flush();
        }
    }

    private static String run(String[] words) throws Exception {
        List<String> parts = new ArrayList<>();
        for (String word : words) {
            parts.add(new String(Base64.getDecoder().decode(word), StandardCharsets.UTF_8));
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        System.setIn(new ByteArrayInputStream(parts.get(0).getBytes(StandardCharsets.UTF_8)));
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        String[] arguments = parts.subList(2, parts.size()).toArray(new String[0]);
        exitStatus = null;
        call(parts.get(1), arguments);
        for (Runnable hook : HOOKS) {
            hook.run();
        }
        HOOKS.clear();
        System.out.flush();
        System.err.flush();
        Base64.Encoder encoder = Base64.getEncoder();
        return (exitStatus == null ? 0 : exitStatus) + "\t" + encoder.encodeToString(out.toByteArray())
            + "\t" + encoder.encodeToString(err.toByteArray());
    }

    private static void call(String name, String[] arguments) throws Exception {
        try {
            Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException wrapped) {
            if (exitStatus == null) {
                System.err.println(name + Arrays.toString(arguments));
                wrapped.getCause().printStackTrace();
                exitStatus = 1;
            }
        }
    }
}
