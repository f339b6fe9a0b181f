"""Makes a topic for each old format and codec at an Apache Kafka 2.8 broker, and produces the same records to all."""

import sys
import time

from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic

FORMATS = {"v0": "0.9.0", "v1": "0.10.2"}
CODECS = ("uncompressed", "gzip", "snappy", "lz4")
FIRST_MS = 1_500_000_000_000


def main(address: str) -> None:
    """Create the topics and produce: three batches of five records, then one record without value."""
    deadline = time.monotonic() + 60
    while True:
        try:
            admin = KafkaAdminClient(bootstrap_servers=address)
            break
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
    topics = {
        f"{short}-{codec}": {"message.format.version": version, "compression.type": codec}
        for short, version in FORMATS.items()
        for codec in CODECS
    }
    topics["v1-append-time"] = {
        "message.format.version": "0.10.2",
        "compression.type": "gzip",
        "message.timestamp.type": "LogAppendTime",
    }
    admin.create_topics([NewTopic(name, 1, 1, topic_configs=configs) for name, configs in topics.items()])
    for topic in topics:
        producer = KafkaProducer(bootstrap_servers=address, linger_ms=1000, enable_idempotence=False)
        producer.partitions_for(topic)
        for batch in range(3):
            for i in range(batch * 5, batch * 5 + 5):
                value = b"value %d " % i * 20
                producer.send(topic, value, b"key %d" % i, timestamp_ms=FIRST_MS + 1000 * i, partition=0)
            producer.flush()
        producer.send(topic, None, b"key 0", timestamp_ms=FIRST_MS + 500, partition=0)
        producer.close()
    admin.close()


if __name__ == "__main__":
    main(sys.argv[1])
