"""The marker of a clean shutdown in a log directory, `.kafka_cleanshutdown`.

It is written last, when every log of the directory is closed and durable, and removed before the first one is opened
again. While it is missing, logs are recovered. Follows Kafka's storage format (`CleanShutdownFileHandler`, KIP-966).
"""

from odradek.storage.files import FileSystem
from odradek.storage.names import CLEAN_SHUTDOWN_FILE

UNKNOWN_BROKER_EPOCH = -1


def write_clean_shutdown(fs: FileSystem, directory: str, broker_epoch: int = UNKNOWN_BROKER_EPOCH) -> None:
    """Mark the directory as cleanly shut down; durable on return."""
    content = f'{{"version":0,"brokerEpoch":{broker_epoch}}}'
    fs.write_bytes(f"{directory}/{CLEAN_SHUTDOWN_FILE}", content.encode(), sync=True)
    fs.sync_dir(directory)


def was_clean_shutdown(fs: FileSystem, directory: str) -> bool:
    """Return whether the marker is there; its presence alone counts, as brokers before KIP-966 left it empty."""
    return fs.exists(f"{directory}/{CLEAN_SHUTDOWN_FILE}")


def remove_clean_shutdown(fs: FileSystem, directory: str) -> None:
    """Remove the marker, durably: should the machine crash later, it must not come back."""
    if was_clean_shutdown(fs, directory):
        fs.unlink(f"{directory}/{CLEAN_SHUTDOWN_FILE}")
        fs.sync_dir(directory)


def read_broker_epoch(fs: FileSystem, directory: str) -> int:
    """Return the broker epoch in the marker, -1 where there is none that can be read."""
    import json  # 5 ms that a start need not spend

    try:
        content = json.loads(fs.read_bytes(f"{directory}/{CLEAN_SHUTDOWN_FILE}"))
    except (FileNotFoundError, ValueError, RecursionError):
        return UNKNOWN_BROKER_EPOCH
    epoch = content.get("brokerEpoch") if isinstance(content, dict) else None
    if isinstance(epoch, int) and not isinstance(epoch, bool) and 0 <= epoch < 1 << 63:
        return epoch
    return UNKNOWN_BROKER_EPOCH
