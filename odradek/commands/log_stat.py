"""Running `odradek log stat`: figures and a picture, of a partition's segments or of the topics of a log directory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby

from odradek.commands.log_errors import in_one_sentence
from odradek.logs.message_json import Json
from odradek.logs.picture import DATA, INDEX, bar, share
from odradek.logs.stat import PartitionStat, SegmentStat, stat_partitions, stat_segments
from odradek.logs.verify.directory import data_size, read_layout
from odradek.storage.files import PosixFiles
from odradek.terminal.human import count_text, plural, size_text, time_text
from odradek.terminal.output import CommandOutput

_BAR_WIDTH = 32


def run(output: CommandOutput, directory: str, deep: bool) -> None:
    """Print the figures of a log directory or of one partition."""
    fs = PosixFiles()
    with in_one_sentence(directory):
        layout = read_layout(fs, directory)
        if layout.is_whole:
            partitions = stat_partitions(fs, layout)
            _show_partitions(output, layout.path, partitions)
        else:
            with output.progress(in_bytes=True) as progress:
                task = progress.add_task("Reading", total=data_size(fs, layout))
                segments = stat_segments(fs, layout.path, deep, lambda count: progress.advance(task, count))
            _show_segments(output, layout.path, segments, deep)


def _show_segments(output: CommandOutput, directory: str, segments: Sequence[SegmentStat], deep: bool) -> None:
    size, index_bytes = sum(each.size for each in segments), sum(each.index_bytes for each in segments)
    if output.json:
        document: dict[str, Json] = {
            "directory": directory,
            "size": size,
            "index_bytes": index_bytes,
            "batches": sum(each.batches for each in segments),
            "records": sum(each.records for each in segments),
            "start_offset": segments[0].base_offset if segments else 0,
            "end_offset": segments[-1].next_offset if segments else 0,
            "segments": [_segment_json(each) for each in segments],
        }
        output.document(document)
        return
    largest = max((each.size + each.index_bytes for each in segments), default=0)
    columns = ["SEGMENT", ">OFFSETS", ">RECORDS", ">BATCHES", ">SIZE", ">RATIO", "CODECS", ">INDEXED EVERY", "UP TO"]
    rows = [
        [
            f"{each.base_offset:020d}",
            count_text(each.next_offset - each.base_offset),
            count_text(each.records),
            count_text(each.batches),
            size_text(each.size),
            _ratio(each, deep),
            ",".join(each.codecs) or "-",
            None if each.bytes_per_entry is None else size_text(each.bytes_per_entry),
            None if each.max_timestamp < 0 else time_text(each.max_timestamp),
        ]
        for each in segments
    ]
    output.table(columns, rows)
    output.line()
    for each in segments:
        drawn = bar(each.size, each.index_bytes, largest, _BAR_WIDTH)
        output.line(f"{each.base_offset:020d} {share(each.size, size):>4} {drawn}")
    output.line(f"{DATA} records  {INDEX} indexes")
    for each in segments:
        if each.problem:
            output.note(f"{each.base_offset:020d}.log, {each.problem}; `odradek log verify` says more")
    batches, records = sum(each.batches for each in segments), sum(each.records for each in segments)
    output.heading(
        f"{plural(len(segments), 'segment')}, {plural(records, 'record')} in {plural(batches, 'batch', 'batches')}, "
        f"{size_text(size)} and {size_text(index_bytes)} of indexes"
    )


def _show_partitions(output: CommandOutput, directory: str, partitions: Sequence[PartitionStat]) -> None:
    ordered = sorted(partitions, key=lambda each: (each.topic, each.partition))
    topics = {topic: list(each) for topic, each in groupby(ordered, key=lambda each: each.topic)}
    total = sum(each.total_bytes for each in ordered)
    if output.json:
        output.document(
            {
                "directory": directory,
                "size": total,
                "topics": [
                    {
                        "topic": topic,
                        "size": sum(each.total_bytes for each in members),
                        "partitions": [_partition_json(each) for each in members],
                    }
                    for topic, members in topics.items()
                ],
            }
        )
        return
    by_size = sorted(topics.items(), key=lambda item: -sum(each.total_bytes for each in item[1]))
    largest = max((sum(each.total_bytes for each in members) for members in topics.values()), default=0)
    rows = []
    for topic, members in by_size:
        data = sum(each.data_bytes for each in members)
        rest = sum(each.index_bytes + each.other_bytes for each in members)
        ends = [each.end_offset - each.start_offset for each in members if each.end_offset is not None]
        rows.append(
            [
                topic,
                len(members),
                sum(each.segments for each in members),
                count_text(sum(ends)),
                size_text(data),
                size_text(rest),
                share(data + rest, total),
                bar(data, rest, largest, _BAR_WIDTH),
            ]
        )
    columns = ["TOPIC", ">PARTITIONS", ">SEGMENTS", ">OFFSETS", f">RECORDS {DATA}", f">OTHER {INDEX}", ">SHARE", ""]
    output.table(columns, rows)
    output.heading(
        f"{plural(len(topics), 'topic')}, {plural(len(ordered), 'partition')}, {size_text(total)} in "
        f"{os.path.abspath(directory)}"
    )


def _ratio(stat: SegmentStat, deep: bool) -> str | None:
    if stat.compression_ratio is None:
        return None
    return f"{'' if deep else '~'}{stat.compression_ratio:.1f}"


def _segment_json(stat: SegmentStat) -> dict[str, Json]:
    return {
        "base_offset": stat.base_offset,
        "next_offset": stat.next_offset,
        "size": stat.size,
        "batches": stat.batches,
        "records": stat.records,
        "first_timestamp": stat.first_timestamp,
        "max_timestamp": stat.max_timestamp,
        "codecs": dict(stat.codecs),
        "compression_ratio": stat.compression_ratio,
        "sampled_batches": stat.sampled_batches,
        "index_bytes": stat.index_bytes,
        "offset_index_entries": stat.offset_entries,
        "time_index_entries": stat.time_entries,
        "bytes_per_index_entry": stat.bytes_per_entry,
        "aborted_transactions": stat.aborted_transactions,
        "problem": stat.problem or None,
    }


def _partition_json(stat: PartitionStat) -> dict[str, Json]:
    return {
        "partition": stat.partition,
        "directory": stat.directory,
        "segments": stat.segments,
        "start_offset": stat.start_offset,
        "end_offset": stat.end_offset,
        "data_bytes": stat.data_bytes,
        "index_bytes": stat.index_bytes,
        "other_bytes": stat.other_bytes,
    }
