"""Where jobs produce to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMAT: Final = "odradek"


@dataclass(frozen=True, slots=True)
class TopicSink:
    """Options of the data source for writing: `kafka.*`, and `topic` unless a column says it."""

    options: Mapping[str, str]

    def produce(self, records: DataFrame) -> None:
        """Produce all records, and return once they are acknowledged. Raises what Spark raises."""
        records.write.format(FORMAT).mode("append").options(**self.options).save()
