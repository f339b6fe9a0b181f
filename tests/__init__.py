"""Tests. Whatever imports them writes bytecode, and so do the processes that it starts.

Hundreds of brokers and commands would else compile everything again, where the environment forbids it.
"""

import os
import sys

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
