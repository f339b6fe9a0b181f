"""Running `odradek log explain`."""

from __future__ import annotations

import time

from odradek.commands.log_errors import in_one_sentence
from odradek.logs.explain import explain_offset, explain_timestamp
from odradek.logs.explain_json import explain_json
from odradek.logs.explain_text import explain_lines
from odradek.storage.files import PosixFiles
from odradek.terminal.output import CommandOutput


def run(output: CommandOutput, directory: str, offset: int | None, timestamp: int | None) -> bool:
    """Print the steps of the lookup; return whether a record was found."""
    with in_one_sentence(directory):
        if offset is not None:
            told = explain_offset(PosixFiles(), directory, offset, time.perf_counter_ns)
        else:
            assert timestamp is not None
            told = explain_timestamp(PosixFiles(), directory, timestamp, time.perf_counter_ns)
    if output.json:
        output.document(explain_json(told))
    else:
        for line in explain_lines(told):
            if line.is_heading:
                output.heading(line.text)
            else:
                output.line(line.text)
    return told.record is not None
