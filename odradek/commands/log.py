"""`odradek log`: a look into Kafka's files, without a broker."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from odradek.cli.command import group, offline
from odradek.commands import log_dump, log_explain, log_stat, log_verify
from odradek.documents import log as documents
from odradek.documents.log_dump import DUMPED
from odradek.logs.dump import DumpOptions
from odradek.logs.kinds import Contents
from odradek.logs.verify.repair import DEFAULT_INTERVAL_BYTES
from odradek.terminal.errors import EXIT_FAILED, EXIT_OK, WrongUsageError
from odradek.terminal.output import CommandOutput

app = group("log", "Look into Kafka's files: dump, verify, explain, stat.")


class _Records(StrEnum):
    """What `--records` takes."""

    AUTO = "auto"
    PLAIN = "plain"
    OFFSETS = "offsets"
    TRANSACTIONS = "transactions"
    METADATA = "metadata"


@offline(
    app,
    "dump",
    document=DUMPED,
    examples="""
    odradek log dump odradek-data/lines-0/00000000000000000000.log
    odradek log dump odradek-data/lines-0                                     all files of the partition
    odradek log dump --print-data odradek-data/lines-0/*.log
    odradek log dump odradek-data/lines-0/*.index odradek-data/lines-0/*.timeindex odradek-data/lines-0/*.snapshot
    odradek log dump --print-data odradek-data/__cluster_metadata-0/*.log     the cluster's metadata, decoded
    odradek log dump --print-data odradek-data/__consumer_offsets-*/*.log     committed offsets and groups, decoded
    odradek log dump --print-data odradek-data/__transaction_state-*/*.log    transactions by their id, decoded
    odradek log dump --json --deep odradek-data/lines-0/*.log | jq '.files[].batches[].records[].offset'
    odradek log dump odradek-data/*-checkpoint odradek-data/meta.properties
    """,
)
def dump(
    output: CommandOutput,
    files: Annotated[
        list[Path], Argument(metavar="FILE...", help="Files of a log directory, or directories with them.")
    ],
    print_data: Annotated[bool, Option("--print-data", help="Show records with their keys and values.")] = False,
    deep: Annotated[bool, Option("--deep", help="Show records, without keys and values.")] = False,
    records: Annotated[
        _Records, Option("--records", help="What the records are; auto goes by the name of the directory.")
    ] = _Records.AUTO,
) -> int:
    """Show what files hold, as kafka-dump-log does.

    Segments (.log, in all three formats), their indexes (.index, .timeindex, .txnindex), producer snapshots
    (.snapshot), checkpoints, meta.properties, partition.metadata, quorum-state and snapshots of the metadata
    (.checkpoint). Files are only read, also those of a running broker.
    """
    contents = None if records is _Records.AUTO else Contents(records.value)
    paths = [name for path in files for name in log_dump.files_of(str(path))]
    whole = log_dump.run(output, paths, DumpOptions(deep, print_data, contents))
    return EXIT_OK if whole else EXIT_FAILED


Partition = Annotated[Path, Argument(metavar="DIR", help="The directory of a partition.", show_default=False)]


@offline(
    app,
    "explain",
    document=documents.EXPLAINED,
    examples="""
    odradek log explain odradek-data/lines-0 --offset 12345
    odradek log explain odradek-data/lines-0 --timestamp 1700000000000
    odradek log explain odradek-data/lines-0 --offset 12345 --json | jq .bytes_read
    """,
)
def explain(
    output: CommandOutput,
    directory: Partition,
    offset: Annotated[int | None, Option("--offset", help="The offset to look for.", show_default=False)] = None,
    timestamp: Annotated[
        int | None,
        Option(
            "--timestamp", metavar="MS", help="Look for the first record at this time or later.", show_default=False
        ),
    ] = None,
) -> int:
    """Show how a log finds an offset or a time, step by step.

    The binary search over the names of the segments, the entry of the sparse index, the position, the way over batch
    headers from there, the batch, the record; with what each step read and how long it took. The record is looked for
    among the first 200,000 of its batch: what is said to stand for more is not gone through to its end.
    """
    if (offset is None) == (timestamp is None):
        raise WrongUsageError("give either --offset or --timestamp")
    found = log_explain.run(output, str(directory), offset, timestamp)
    return EXIT_OK if found else EXIT_FAILED


@offline(
    app,
    "verify",
    document=documents.VERIFIED,
    examples="""
    odradek log verify odradek-data                       the whole log directory
    odradek log verify odradek-data/lines-0               one partition
    odradek log verify odradek-data --deep                every record, too
    odradek log verify odradek-data --repair              makes wrong indexes anew; no broker may run
    odradek log verify odradek-data --json | jq '.findings[] | select(.severity == "error")'
    """,
)
def verify(
    output: CommandOutput,
    directory: Annotated[
        Path, Argument(metavar="DIR", help="A log directory, or that of a partition.", show_default=False)
    ],
    deep: Annotated[bool, Option("--deep", help="Take every record out of its batch, too: slower.")] = False,
    repair: Annotated[
        bool, Option("--repair", help="Rebuild indexes that are wrong, and nothing else; no broker may run.")
    ] = False,
    interval: Annotated[
        int, Option("--index-interval-bytes", min=0, help="How densely --repair indexes: the topic's own setting.")
    ] = DEFAULT_INTERVAL_BYTES,
) -> int:
    """Check every file of a log directory, and say which byte of which file is wrong.

    Checksums and order of the batches, offset, time and transaction indexes, producer snapshots, leader epochs,
    checkpoints and names. Nothing is changed without --repair. The exit code is 1 where something is wrong.
    """
    return EXIT_OK if log_verify.run(output, str(directory), deep, repair, interval) else EXIT_FAILED


@offline(
    app,
    "stat",
    document=documents.STATISTICS,
    examples="""
    odradek log stat odradek-data                topics by their size on disk
    odradek log stat odradek-data/lines-0        the segments of one partition
    odradek log stat odradek-data/lines-0 --json | jq '.segments[].compression_ratio'
    """,
)
def stat(
    output: CommandOutput,
    directory: Annotated[
        Path, Argument(metavar="DIR", help="A log directory, or that of a partition.", show_default=False)
    ],
    deep: Annotated[
        bool, Option("--deep", help="Decompress every batch for the compression ratio, not one in 64.")
    ] = False,
) -> None:
    """Show where the bytes of a log are.

    Of a partition: its segments with offsets, records, batches, sizes, compression and how densely they are indexed.
    Of a log directory: its topics. Files are only read, also those of a running broker.
    """
    log_stat.run(output, str(directory), deep)
