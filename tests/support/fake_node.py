"""A program in the place of a node: it listens on its port until SIGTERM. How it behaves stands in its properties.

`fake=ends` says so and ends at once, `fake=stays` does not listen to SIGTERM.
"""

import re
import signal
import socket
import sys
import time
from pathlib import Path


def main() -> int:
    """Be a node."""
    properties = Path(sys.argv[-1]).read_text()
    found = re.search(r"^listeners\s*[=:].*?(\d+)$", properties, re.MULTILINE)
    assert found is not None
    if "fake=ends" in properties:
        sys.stderr.write("first line\nwhat is wrong\n")
        return 1
    how = signal.SIG_IGN if "fake=stays" in properties else lambda *_: sys.exit(0)
    signal.signal(signal.SIGTERM, how)
    with socket.create_server(("127.0.0.1", int(found[1]))):
        while True:
            time.sleep(1)  # a signal ends it


if __name__ == "__main__":
    sys.exit(main())
