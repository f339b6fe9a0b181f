"""The records that new metadata begins with, written before the first start (`bootstrap.checkpoint`).

Owns: writing the file that `snapshots.load_bootstrap` reads, in Kafka's form and order: levels of features, then users.
Apache Kafka begins with it, too. For `odradek format`; must not know: arguments.
"""

from collections.abc import Mapping

from odradek.broker.metadata.features import METADATA_VERSION, NEW_CLUSTER
from odradek.broker.metadata.records import make_record
from odradek.broker.metadata.scram import ScramKey, scram_records
from odradek.broker.metadata.snapshot_writing import snapshot_content
from odradek.broker.metadata.snapshots import BOOTSTRAP_FILE, PART_SUFFIX
from odradek.protocol.messages.metadata_records import FeatureLevelRecord
from odradek.protocol.scram import ScramCredential
from odradek.storage.files import FileSystem


def write_bootstrap(fs: FileSystem, log_dir: str, users: Mapping[ScramKey, ScramCredential], now_ms: int) -> None:
    """Have the metadata in a log directory begin with these users; durable on return. Raises OSError."""
    levels = sorted(NEW_CLUSTER.items(), key=lambda item: (item[0] != METADATA_VERSION, item[0]))
    records = [make_record(FeatureLevelRecord(name=name, feature_level=level)) for name, level in levels]
    records += [make_record(message) for message in scram_records(users)]
    path = f"{log_dir}/{BOOTSTRAP_FILE}"
    fs.write_bytes(path + PART_SUFFIX, snapshot_content(records, (), 0, now_ms), sync=True)
    fs.rename(path + PART_SUFFIX, path)
    fs.sync_dir(log_dir)
