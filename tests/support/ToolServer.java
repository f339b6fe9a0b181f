import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs tools of Apache Kafka one after another in one JVM, as `tools.py` asks on its standard input.
 *
 * A request is the main class, the number of arguments, the arguments, and the tool's input; the answer its exit code,
 * output and errors. Lengths and numbers are four bytes. Ends with its input.
 */
public final class ToolServer {
    /** Ends a tool where it would have ended its process. */
    private static final class Ended extends Error {
        Ended() {
            super("the tool has ended", null, false, false);
        }
    }

    /** Stays the same for those who keep it, whichever tool runs; what comes after the end of a tool counts no more. */
    private static final class Output extends OutputStream {
        private ByteArrayOutputStream written = new ByteArrayOutputStream();

        @Override
        public synchronized void write(int one) {
            if (code == null) {
                written.write(one);
            }
        }

        @Override
        public synchronized void write(byte[] bytes, int start, int length) {
            if (code == null) {
                written.write(bytes, start, length);
            }
        }

        synchronized byte[] take() {
            byte[] all = written.toByteArray();
            written = new ByteArrayOutputStream();
            return all;
        }
    }

    /** The same for what tools read. */
    private static final class Input extends InputStream {
        private volatile InputStream given = InputStream.nullInputStream();

        @Override
        public int read() throws IOException {
            return given.read();
        }

        @Override
        public int read(byte[] bytes, int start, int length) throws IOException {
            return given.read(bytes, start, length);
        }

        @Override
        public int available() throws IOException {
            return given.available();
        }

        @Override
        public void close() {
        }
    }

    private static volatile Integer code;

    private static void end(int wanted) {
        if (code == null) {
            code = wanted;
        }
        throw new Ended();
    }

    private static byte[] read(DataInputStream from) throws IOException {
        byte[] bytes = new byte[from.readInt()];
        from.readFully(bytes);
        return bytes;
    }

    private static String text(DataInputStream from) throws IOException {
        return new String(read(from), StandardCharsets.UTF_8);
    }

    private static void write(DataOutputStream to, byte[] bytes) throws IOException {
        to.writeInt(bytes.length);
        to.write(bytes);
    }

    private static void run(String name, String[] arguments) {
        try {
            Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException failed) {
            if (code == null) {
                System.err.print("Exception in thread \"main\" ");
                failed.getCause().printStackTrace();
                code = 1;
            }
        } catch (ReflectiveOperationException unknown) {
            unknown.printStackTrace();
            code = 1;
        }
    }

    public static void main(String[] none) throws IOException {
        DataInputStream requests = new DataInputStream(System.in);
        DataOutputStream answers =
            new DataOutputStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out)));
        Input input = new Input();
        Output output = new Output();
        Output errors = new Output();
        System.setIn(input);
        System.setOut(new PrintStream(output, true));
        System.setErr(new PrintStream(errors, true));
        Exit.setExitProcedure((wanted, message) -> end(wanted));
        Exit.setHaltProcedure((wanted, message) -> end(wanted));
        while (true) {
            String name;
            try {
                name = text(requests);
            } catch (EOFException over) {
                Runtime.getRuntime().halt(0);
                return;
            }
            String[] arguments = new String[requests.readInt()];
            for (int place = 0; place < arguments.length; place++) {
                arguments[place] = text(requests);
            }
            input.given = new ByteArrayInputStream(read(requests));
            output.take();
            errors.take();
            code = null;
            run(name, arguments);
            System.out.flush();
            System.err.flush();
            answers.writeInt(code == null ? 0 : code);
            write(answers, output.take());
            write(answers, errors.take());
            answers.flush();
        }
    }
}
