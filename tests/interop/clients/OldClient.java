import java.util.Collections;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Produces records and reads them as the member of a group, twice, so that the second member goes on where the first one
 * committed. Prints offset, key and value of each record that was read. Written for all kafka-clients from 0.9 to 2.x.
 *
 * Arguments: bootstrap, topic, compression type, records of each round.
 */
public class OldClient {
    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[3]);
        for (int round = 0; round < 2; round++) {
            produce(arguments[0], arguments[1], arguments[2], round * count, count);
            consume(arguments[0], arguments[1], count);
        }
    }

    private static void produce(String bootstrap, String topic, String codec, int first, int count) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("acks", "all");
        settings.put("linger.ms", "5");
        settings.put("compression.type", codec);
        settings.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            for (int number = first; number < first + count - 1; number++) {
                producer.send(new ProducerRecord<>(topic, 0, "key " + number, "value " + number));
            }
            int last = first + count - 1;
            producer.send(new ProducerRecord<>(topic, 0, "key " + last, "value " + last)).get();
        }
    }

    @SuppressWarnings("deprecation")
    private static void consume(String bootstrap, String topic, int count) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", "group-" + topic);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings)) {
            consumer.subscribe(Collections.singletonList(topic));
            int seen = 0;
            while (seen < count) {
                for (ConsumerRecord<String, String> record : consumer.poll(500)) {
                    System.out.println(record.offset() + "\t" + record.key() + "\t" + record.value());
                    seen++;
                }
            }
            consumer.commitSync();
        }
    }
}
