"""One topic: its partitions, the groups that read it, its configs, and its end."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from confluent_kafka.admin import NewPartitions
from starlette.responses import Response

from odradek.cluster.configs import ConfigOrigin, ConfigResourceType, alter_configs, describe_configs
from odradek.cluster.errors import ANSWER_TIMEOUT_S, answer
from odradek.cluster.topics import facts
from odradek.console.history import SeriesKey, SeriesKind
from odradek.console.pages.fields import whole_number
from odradek.console.routes import action, view
from odradek.console.visit import Visit
from odradek.terminal.errors import WrongUsageError

MOST_PARTITIONS: Final = 100_000
MOST_SHOWN: Final = 500
"""Partitions of one topic on a page."""
_SOURCES: Final = {
    ConfigOrigin.DYNAMIC_TOPIC_CONFIG: "this topic",
    ConfigOrigin.DYNAMIC_BROKER_CONFIG: "broker, changed at run time",
    ConfigOrigin.DYNAMIC_DEFAULT_BROKER_CONFIG: "all brokers, changed at run time",
    ConfigOrigin.STATIC_BROKER_CONFIG: "the broker's file",
    ConfigOrigin.DEFAULT_CONFIG: "default",
}


def address(name: str, part: str = "") -> str:
    """Return where a topic is shown, or a part of it."""
    return f"/topics/{quote(name, safe='')}{f'/{part}' if part else ''}"


def show_topic(visit: Visit) -> Response:
    """Show the partitions of a topic and its groups."""
    name = visit.path("topic")
    overview = visit.console.overviews.at_once().overview
    lags = sorted(
        ((group.lags[name], group.name) for group in overview.groups if name in group.lags), key=lambda each: -each[0]
    )
    with visit.cluster() as cluster:
        [topic], problem = facts(cluster, [name])
    known = [each for each in topic.partitions if each.beginning is not None and each.end is not None]
    return visit.page(
        "topic.html",
        topic=topic,
        problem=problem,
        partitions=topic.partitions[:MOST_SHOWN],
        offsets=sum(int(each.end or 0) - int(each.beginning or 0) for each in known),
        size=sum(each.size or 0 for each in topic.partitions),
        lags=lags[:MOST_SHOWN],
        is_whole=overview.is_whole,
        rate=visit.console.history.latest(SeriesKey(SeriesKind.RECORDS_PER_S, name)),
    )


def show_configs(visit: Visit) -> Response:
    """Show the configs of a topic, each with where it comes from."""
    name, text, only_set = visit.path("topic"), visit.query("q"), visit.query("set")
    with visit.cluster() as cluster:
        configs = describe_configs(cluster, ConfigResourceType.TOPIC, name)
    return visit.page(
        "topic_configs.html",
        name=name,
        text=text,
        only_set=only_set,
        configs=[
            each
            for each in configs
            if text.lower() in each.name and (not only_set or each.source == ConfigOrigin.DYNAMIC_TOPIC_CONFIG)
        ],
        source=lambda config: _SOURCES.get(config.source, "elsewhere"),
        is_own=lambda config: config.source == ConfigOrigin.DYNAMIC_TOPIC_CONFIG,
    )


def change_config(visit: Visit) -> Response:
    """Set a config of a topic, or take it back."""
    name, key = visit.path("topic"), visit.field("name").strip()
    if not key:
        raise WrongUsageError("say which config")
    is_reset = visit.field("do") == "reset"
    value = visit.field("value").strip()
    with visit.cluster() as cluster:
        alter_configs(
            cluster,
            ConfigResourceType.TOPIC,
            name,
            [] if is_reset else [(key, value)],
            [key] if is_reset else [],
        )
    done = f"{key} is no longer set on {name}" if is_reset else f"{key} of {name} is now {value}"
    return visit.go(address(name, "configs"), done)


def add_partitions(visit: Visit) -> Response:
    """Give a topic more partitions."""
    name = visit.path("topic")
    count = whole_number(visit.field("partitions"), "partitions", 1, MOST_PARTITIONS)
    if count is None:
        raise WrongUsageError("say how many partitions there are to be")
    with visit.cluster() as cluster:
        more = [NewPartitions(name, count)]
        answer(cluster.admin.create_partitions(more, request_timeout=ANSWER_TIMEOUT_S)[name], f"topic {name}")
    visit.console.overviews.forget()
    return visit.go(address(name), f"topic {name} has {count} partitions; brokers show them in a moment")


def delete_topic(visit: Visit) -> Response:
    """Delete a topic whose name was typed."""
    name = visit.path("topic")
    if visit.field("typed") != name:
        raise WrongUsageError(f"the name of the topic was not typed as it is; {name} is still there")
    with visit.cluster() as cluster:
        answer(cluster.admin.delete_topics([name], request_timeout=ANSWER_TIMEOUT_S)[name], f"topic {name}")
    visit.console.overviews.forget()
    return visit.go("/topics", f"topic {name} is deleted")


ROUTES: Final = (
    view("/topics/{topic}", show_topic),
    view("/topics/{topic}/configs", show_configs),
    action("/topics/{topic}/configs", change_config),
    action("/topics/{topic}/partitions", add_partitions),
    action("/topics/{topic}/delete", delete_topic),
)
