"""From nothing to a chart: a broker, a topic with an hour of orders, Spark, and what was ordered in each minute.

    pip install 'odradek[pipeline]'        # and Java 17 or newer
    python examples/orders_by_minute.py    # writes orders-by-minute.svg

With the address of a cluster as the argument it uses that one, and a topic that it makes there.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  everybody's name for it

from odradek.testing import Broker

MINUTES = 60
WIDTH, HEIGHT, MARGIN = 720, 240, 30


class Minute(NamedTuple):
    """What was ordered in one minute."""

    label: str
    orders: int
    amount: float


def produce_orders(servers: str, topic: str, first_ms: int, seed: int = 1) -> int:
    """Produce an hour of orders, more of them towards its middle; return how many."""
    chance = random.Random(seed)
    producer = Producer({"bootstrap.servers": servers})
    count = 0
    for minute in range(MINUTES):
        for _ in range(chance.randint(5, 10) + 20 - abs(minute - MINUTES // 2) // 2):
            order = {"item": chance.choice(("spool", "thread", "star")), "amount": round(chance.uniform(1, 50), 2)}
            at = first_ms + minute * 60_000 + chance.randrange(60_000)
            producer.produce(topic, json.dumps(order), order["item"], timestamp=at)
            count += 1
    if producer.flush(60):
        raise SystemExit(f"the broker at {servers} did not take all orders")
    return count


def by_minute(spark: SparkSession, servers: str, topic: str) -> list[Minute]:
    """Return what was ordered in each minute of the topic, the oldest first."""
    records = spark.read.format("odradek").option("kafka.bootstrap.servers", servers).option("subscribe", topic).load()
    order = F.from_json(F.col("value").cast("string"), "item string, amount double")
    minutes = (
        records.select("timestamp", order.alias("order"))
        .groupBy(F.window("timestamp", "1 minute").alias("minute"))
        .agg(F.count("*").alias("orders"), F.sum("order.amount").alias("amount"))
        .orderBy("minute")
        .select(F.date_format("minute.start", "HH:mm").alias("label"), "orders", "amount")
    )
    return [Minute(row["label"], row["orders"], row["amount"]) for row in minutes.collect()]


def chart(minutes: Sequence[Minute]) -> str:
    """Return a picture (SVG) with a bar for each minute."""
    most = max(each.orders for each in minutes)
    wide, high = (WIDTH - 2 * MARGIN) / len(minutes), HEIGHT - 2 * MARGIN
    bars = [
        f'<rect x="{MARGIN + number * wide:.1f}" y="{HEIGHT - MARGIN - high * each.orders / most:.1f}"'
        f' width="{wide * 0.8:.1f}" height="{high * each.orders / most:.1f}" fill="#4878a8">'
        f"<title>{each.label}: {each.orders} orders, {each.amount:.2f}</title></rect>"
        for number, each in enumerate(minutes)
    ]
    times = [
        f'<text x="{MARGIN + number * wide:.1f}" y="{HEIGHT - MARGIN / 3:.1f}">{each.label}</text>'
        for number, each in enumerate(minutes)
        if number % 10 == 0
    ]
    style = 'font-family="sans-serif" font-size="12"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" {style}>'
    title = f'<text x="{MARGIN}" y="{MARGIN * 2 / 3:.0f}">orders by minute, at most {most}</text>'
    return "\n".join([head, title, *bars, *times, "</svg>", ""])


def run(spark: SparkSession, servers: str, topic: str, picture: Path) -> tuple[int, list[Minute]]:
    """Produce orders, count them, and write the picture; return how many there are, and what each minute had."""
    now_ms = time.time_ns() // 1_000_000
    first_ms = (now_ms // 3_600_000 - 1) * 3_600_000  # the last whole hour
    produced = produce_orders(servers, topic, first_ms)
    minutes = by_minute(spark, servers, topic)
    picture.write_text(chart(minutes))
    busiest = max(minutes, key=lambda each: each.orders)
    print(f"{produced} orders in {len(minutes)} minutes, most of them at {busiest.label}: {picture}")  # noqa: T201
    return produced, minutes


def main(arguments: Sequence[str]) -> None:
    """Run with a broker of its own, or with the cluster at the address that is given."""
    topic, picture = f"orders-{time.time_ns():x}", Path("orders-by-minute.svg")
    builder = SparkSession.builder.appName("orders-by-minute").master("local[2]").config("spark.ui.enabled", "false")
    if arguments:
        run(builder.getOrCreate(), arguments[0], topic, picture)
        return
    with Broker() as broker:
        run(builder.getOrCreate(), broker.bootstrap_servers, topic, picture)


if __name__ == "__main__":
    main(sys.argv[1:])
