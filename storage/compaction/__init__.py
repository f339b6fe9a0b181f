"""Compaction: of the old records of a log, keep the last one of every key.

    values           what a round is told and what it tells: plain values
    selection        which part of a log may be compacted, and which log is next
    offset_map       the last offset of every key, in bounded memory
    planning         from a log to the task of a round, and from what it has written back to the log
    entries          reading closed segments, checked, and the records in them
    sources          the closed segments that a round reads
    transactions     what a pass over a log knows of the transactions in it
    retain           which batches and records stay
    workload         what a round has to do for the bytes that it reads
    indexing         filling the offset map from the part that is not compacted yet
    grouping         which segments are written together as one
    batches          batches with fewer records, or none
    segment_rewrite  writing one segment from several
    round            one round over a log: map, groups, rewrite
    swap             putting a written segment in place of those that it was made from

A round (`round`) only reads closed segments and writes new files, so it can run in another process; `selection`,
`planning` and `swap` are for the process that owns the log. Follows Kafka's log behaviour, log cleaner (KIP-58,
KIP-354, KIP-534).
"""
