// Prints what Apache Kafka's own message classes write: the table kafka_bytes.tsv, described in test_kafka_bytes.py.
//
//   java -cp "$JARS/*" KafkaBytes.java messages.jsonl > kafka_bytes.tsv
//
// JARS is the directory of Kafka's jars (tests/support/kafka_jars.py), messages.jsonl names the messages.

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.common.record.internal.BaseRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;

public class KafkaBytes {
    static final String[] PACKAGES = {
        "org.apache.kafka.common.message.", "org.apache.kafka.common.metadata.",
        "org.apache.kafka.coordinator.group.generated.", "org.apache.kafka.coordinator.transaction.generated.",
        "org.apache.kafka.coordinator.share.generated."};

    final short version;
    final boolean filled;
    int number;

    KafkaBytes(short version, boolean filled) {
        this.version = version;
        this.filled = filled;
    }

    Object primitive(Class<?> type) {
        number++;
        if (type == boolean.class) return number % 2 == 1;
        if (type == byte.class || type == Byte.class) return (byte) (number % 100 + 1);
        if (type == short.class || type == Short.class) return (short) number;
        if (type == int.class || type == Integer.class) return number;
        if (type == long.class || type == Long.class) return (long) number;
        if (type == double.class) return number + 0.5;
        if (type == String.class) return "s" + number;
        if (type == Uuid.class) return new Uuid(0, number + 100);
        byte[] bytes = {(byte) (number & 0x7f)};
        if (type == byte[].class) return bytes;
        if (type == ByteBuffer.class) return ByteBuffer.wrap(bytes);
        return MemoryRecords.readableRecords(ByteBuffer.wrap(("s" + number).getBytes(StandardCharsets.UTF_8)));
    }

    static boolean isPrimitive(Class<?> type) {
        return type.isPrimitive() || type.getName().startsWith("java.lang.") || type == Uuid.class
            || type == byte[].class || type == ByteBuffer.class || BaseRecords.class.isAssignableFrom(type);
    }

    Object element(Class<?> type) throws Exception {
        return isPrimitive(type) ? primitive(type) : struct(type);
    }

    Collection<Object> list(Field field) throws Exception {
        Collection<Object> list;
        Class<?> element;
        if (field.getType() == List.class) {
            list = new ArrayList<>();
            element = (Class<?>) ((ParameterizedType) field.getGenericType()).getActualTypeArguments()[0];
        } else {
            @SuppressWarnings("unchecked")
            Collection<Object> collection = (Collection<Object>) field.getType().getDeclaredConstructor().newInstance();
            list = collection;
            element = Class.forName(field.getType().getName().replaceAll("Collection$", ""));
        }
        if (filled || !isPrimitive(element)) list.add(element(element));
        if (filled) list.add(element(element));
        return list;
    }

    Object struct(Class<?> type) throws Exception {
        Constructor<?> constructor = type.getDeclaredConstructor();
        constructor.setAccessible(true);
        Object struct = constructor.newInstance();
        Map<String, Type> types = types(((Schema[]) type.getField("SCHEMAS").get(null))[version]);
        for (Field field : type.getDeclaredFields()) {
            Type known = types.get(field.getName().toLowerCase());
            if (known == null || Modifier.isStatic(field.getModifiers())) continue;
            field.setAccessible(true);
            if (!filled && known.isNullable()) field.set(struct, null);
            else if (Collection.class.isAssignableFrom(field.getType())) field.set(struct, list(field));
            else if (!isPrimitive(field.getType())) field.set(struct, struct(field.getType()));
            else if (filled) field.set(struct, primitive(field.getType()));
        }
        return struct;
    }

    static Map<String, Type> types(Schema schema) {
        Map<String, Type> types = new HashMap<>();
        for (BoundField field : schema.fields()) {
            types.put(field.def.name.replace("_", ""), field.def.type);
            if (field.def.type instanceof TaggedFields)
                ((TaggedFields) field.def.type).fields().values().forEach(
                    tagged -> types.put(tagged.name.replace("_", ""), tagged.type));
        }
        return types;
    }

    static Class<?> find(String name) {
        for (String prefix : PACKAGES)
            for (String suffix : new String[] {"Data", ""})
                try {
                    return Class.forName(prefix + name + suffix);
                } catch (ClassNotFoundException absent) {
                    continue;
                }
        return null;
    }

    public static void main(String[] arguments) throws Exception {
        TreeSet<String> names = new TreeSet<>();
        Matcher matcher = Pattern.compile("\"message\":\"(\\w+)\"").matcher(Files.readString(Path.of(arguments[0])));
        while (matcher.find()) names.add(matcher.group(1));
        System.out.println("message\tversion\tvalues\tbytes");
        for (String name : names) {
            Class<?> type = find(name);
            if (type == null) continue;
            short last = type.getField("HIGHEST_SUPPORTED_VERSION").getShort(null);
            for (short version = type.getField("LOWEST_SUPPORTED_VERSION").getShort(null); version <= last; version++)
                for (boolean filled : new boolean[] {true, false}) {
                    Message message = (Message) new KafkaBytes(version, filled).struct(type);
                    ByteBuffer buffer;
                    try {
                        buffer = MessageUtil.toByteBufferAccessor(message, version).buffer();
                    } catch (NullPointerException noRecords) {
                        continue; // Kafka takes null records for nullable and then cannot write them
                    }
                    byte[] bytes = new byte[buffer.limit()];
                    buffer.get(0, bytes);
                    System.out.println(String.join("\t",
                        name, "" + version, filled ? "filled" : "null", HexFormat.of().formatHex(bytes)));
                }
        }
    }
}
