"""Many transactional ids in one partition of `__transaction_state`: memory for each, and how long they take to load.

    python -m benchmarks.transactional_ids [COUNT]

Writes that many ids as their producers would have left them after a transaction, loads them as a coordinator does that
comes to lead the partition, and prints bytes for each id and the processor time of the load.
"""

import sys
import time
import tracemalloc

from odradek.broker.transactions.playback import TransactionPlayback
from odradek.broker.transactions.records import encode_key, encode_value
from odradek.broker.transactions.state import TransactionMetadata, TransactionState


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    now = 1_700_000_000_000
    records = []
    for number in range(count):
        known = TransactionMetadata(
            number,
            1,
            60_000,
            TransactionState.COMPLETE_COMMIT,
            updated_ms=now + number,
            started_ms=now + number - 5,
            previous_id=number,
            version=2,
        )
        records.append((encode_key(f"service-{number}"), encode_value(known, 2)))
    for what in ("processor time", "memory"):
        transactions: dict[str, TransactionMetadata] = {}
        playback = TransactionPlayback(transactions, "benchmark")
        if what == "memory":
            tracemalloc.start()
        began = time.process_time()
        for key, value in records:
            playback.replay(key, value)
        took = time.process_time() - began
        if what == "memory":
            print(f"{count} ids: {tracemalloc.get_traced_memory()[0] / count:.0f} bytes each")
        else:
            print(f"{count} ids: {took:.2f} s to load, {took / count * 1e6:.1f} us each")


if __name__ == "__main__":
    main()
