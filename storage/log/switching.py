"""A log that goes on in the files of its copy, in another log directory (KIP-113).

The copy has the same batches at the same offsets; what the log knows of producers, of transactions that are being
verified and of where it begins stays, so that nobody who holds the log notices.
"""

from functools import partial

from odradek.storage.log.log import Log


def switch_to(log: Log, copy: Log, directory: str) -> None:
    """Let the log be in the files of a copy that ends where it ends; they are in this directory by now. No I/O."""
    local, snapshots = copy.local, copy.snapshots
    snapshots.directory = directory
    local.moved_to(directory, log.local.generation + 1, partial(snapshots.take_at, log.producers))
    local.update_config(log.config)
    log.leader_epochs.moved_to(directory)
    log.local, log.snapshots = local, snapshots
