"""Where jobs produce to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark_odradek.client.setting_names import OF_READERS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMAT: Final = "odradek"


def sink_options(shared: Mapping[str, str], own: Mapping[str, str], topic: str | None) -> dict[str, str]:
    """Return options for writing: settings of the cluster that is read, too, then those of the producer alone.

    Of the shared ones those that are a reader's are left out; among its own a producer refuses them.
    """
    settings = {name: value for name, value in shared.items() if name.lower() not in OF_READERS} | dict(own)
    return {f"kafka.{name}": value for name, value in settings.items()} | ({"topic": topic} if topic else {})


@dataclass(frozen=True, slots=True)
class TopicSink:
    """Options of the data source for writing: `kafka.*`, and `topic` unless a column says it."""

    options: Mapping[str, str]

    def produce(self, records: DataFrame) -> None:
        """Produce all records, and return once they are acknowledged. Raises what Spark raises."""
        records.write.format(FORMAT).mode("append").options(**self.options).save()
