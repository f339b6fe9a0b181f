"""`odradek log`: a look into Kafka's files, without a broker."""

from __future__ import annotations

from odradek.cli.command import group

app = group("log", "Look into Kafka's files: dump, verify, explain, stat.")
