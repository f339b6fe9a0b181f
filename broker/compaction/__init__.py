"""Compaction in the background: which log, when, by whom, and what becomes of the result.

    compactor  picks logs, has them compacted, and swaps the results in, on the event loop
    process    the child process that does the work, as the broker sees it
    child      the same, from its own side: `python -P -m broker.compaction.child`
    frames     the messages between the two

The work itself is `storage.compaction`.
"""
