"""Values of JSON: the schema that Spark finds in them, and the columns that it makes of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812  everybody's name for it

from odradek.pipeline.errors import PipelineError, WrongOptionError, sentence
from odradek.pipeline.layout import UNPARSED
from odradek.pipeline.value_schema import UNFIT, ValueSchema, checked, field_names

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def from_ddl(text: str) -> ValueSchema:
    """Return the schema that a text in Spark's SQL says, such as `id BIGINT, at TIMESTAMP`; Spark must have started.

    Raises WrongOptionError.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    try:
        found = StructType.fromDDL(text)
    except PySparkException as wrong:
        raise WrongOptionError(f"--value-schema cannot be read: {sentence(wrong)}") from wrong
    return checked(json.loads(found.json()), "--value-schema")


def parsed(schema: ValueSchema) -> list[Column]:
    """Return the columns `value` and `unparsed`.

    The value has what of the text fits the schema, and is null where it is no JSON object. Where the schema does not
    say all that is in it (no JSON, another type, an outermost field that it does not know or that is there twice, more
    after the object, no UTF-8) its bytes are in `unparsed`, so that nothing is lost.
    """
    from pyspark.sql.types import StructType

    unfit: dict[str, Any] = {"name": UNFIT, "type": "string", "nullable": True, "metadata": {}}
    wanted = StructType.fromJson({"type": "struct", "fields": [*schema["fields"], unfit]})
    text = F.make_valid_utf8(F.col("value").cast("string"))
    names = F.json_object_keys(text)
    found = F.from_json(text, wanted, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": UNFIT})
    known = F.array(*map(F.lit, field_names(schema)))
    lacking = found[UNFIT].isNotNull() | (F.size(F.array_except(names, known)) > 0)
    twice = F.size(F.array_distinct(names)) < F.size(names)
    more = ~F.json_array_length(F.concat(F.lit("["), text, F.lit("]"))).eqNullSafe(1)  # after the object
    in_part = lacking | twice | more | ~F.is_valid_utf8(F.col("value").cast("string"))
    return [
        F.when(names.isNotNull(), found.dropFields(UNFIT)).alias("value"),
        F.when(names.isNull() | in_part, F.col("value")).alias(UNPARSED),
    ]


def inferred(records: DataFrame) -> ValueSchema:
    """Return the schema that Spark finds in all values, which stay in the JVM meanwhile. Raises PipelineError."""
    spark = records.sparkSession
    texts: Any = records.where(F.col("value").isNotNull()).select(F.make_valid_utf8(F.col("value").cast("string")))
    jvm: Any = spark._jvm
    strings = getattr(texts._jdf, "as")(jvm.org.apache.spark.sql.Encoders.STRING())
    reader: Any = spark.read.option("mode", "DROPMALFORMED")._jreader
    found: dict[str, Any] = json.loads(reader.json(strings).schema().json())
    if not found["fields"]:
        raise PipelineError(
            "no value of the first micro-batch is a JSON object with fields, so that there is nothing to find a schema"
            " in: give --value-schema, or keep values as they are in another --output, with --value bytes"
        )
    return found
