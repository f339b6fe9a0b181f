"""`odradek log`: a look into Kafka's files, without a broker."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from odradek.cli.command import group, offline
from odradek.cli.errors import EXIT_FAILED, EXIT_OK
from odradek.cli.output import Output
from odradek.commands import log_dump
from odradek.logs.dump import DumpOptions
from odradek.logs.kinds import Contents

app = group("log", "Look into Kafka's files: dump, verify, explain, stat.")


class _Records(str, Enum):
    """What `--records` takes."""

    AUTO = "auto"
    PLAIN = "plain"
    OFFSETS = "offsets"
    METADATA = "metadata"


@offline(
    app,
    "dump",
    examples="""
    odradek log dump odradek-data/lines-0/00000000000000000000.log
    odradek log dump --print-data odradek-data/lines-0/*.log
    odradek log dump odradek-data/lines-0/*.index odradek-data/lines-0/*.timeindex odradek-data/lines-0/*.snapshot
    odradek log dump --print-data odradek-data/__cluster_metadata-0/*.log     the cluster's metadata, decoded
    odradek log dump --print-data odradek-data/__consumer_offsets-*/*.log     committed offsets and groups, decoded
    odradek log dump --json --deep odradek-data/lines-0/*.log | jq '.files[].batches[].records[].offset'
    odradek log dump odradek-data/*-checkpoint odradek-data/meta.properties
    """,
)
def dump(
    output: Output,
    files: Annotated[
        list[Path], Argument(metavar="FILE...", help="Files of a log directory; each is told by its name.")
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
    whole = log_dump.run(output, [str(path) for path in files], DumpOptions(deep, print_data, contents))
    return EXIT_OK if whole else EXIT_FAILED
