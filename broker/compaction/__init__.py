"""Compaction in the background: which log, when, by whom, and what becomes of the result.

    log_cleaner  picks logs, and has one after the other compacted
    rounds       one round over one log: sent to the process, and what that writes swapped in, on the event loop
    process      the child process that does the work, as the broker sees it
    child        the same, from its own side: `python -P -m odradek.broker.compaction.child`
    frames       the messages between the two

The work itself is `storage.compaction`.
"""
