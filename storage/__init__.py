"""The log engine: Kafka's files, without asyncio, sockets or requests. Rooms import only downward in this table.

    directories   the log directories of a broker, and all the logs in them
    opening       from the files of a partition directory to a log
    compaction    of the old records of a log, keep the last one of every key
    log           one partition's log, and what is done to it
    producers     what a partition knows of its producers
    segment       data files, their indexes, and reading batches from them
    checkpoints   the small files beside the data
    validation    what a client's batch must be

Below them: `files` (all that touches a file system), `file_locks`, `names`, `deletions`, `threads`, `errors`.
"""
