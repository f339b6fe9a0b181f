"""The list of topics, and making a new one."""

from __future__ import annotations

from typing import Final

from confluent_kafka.admin import NewTopic
from starlette.responses import Response

from odradek.cluster.errors import ANSWER_TIMEOUT_S, answer
from odradek.cluster.overview import TopicOverview
from odradek.cluster.topics import wait_until_known
from odradek.console.history import SeriesKind
from odradek.console.listing import list_page
from odradek.console.page import ConsolePage
from odradek.console.pages import messages, produce, producers, tail, topic
from odradek.console.pages.fields import assignments, whole_number
from odradek.console.routes import action, view
from odradek.console.visit import Visit
from odradek.terminal.errors import WrongUsageError

BROKER_DEFAULT: Final = -1
MOST_PARTITIONS: Final = 100_000


def show_topics(visit: Visit) -> Response:
    """Show the topics that were looked for, a page of them."""
    timed = visit.console.overviews.at_once()
    rates = visit.console.history.latest_of(SeriesKind.RECORDS_PER_S)
    text, state, internal = visit.query("q"), visit.query("state"), visit.query("internal")
    rows = [
        each
        for each in timed.overview.topics
        if text.lower() in each.name.lower()
        and (internal or not each.is_internal)
        and (state != "trouble" or each.under_replicated or each.offline)
    ]
    listed = list_page(
        rows,
        {
            "name": lambda each: each.name,
            "partitions": lambda each: each.partitions,
            "offsets": lambda each: each.offsets,
            "rate": lambda each: rates.get(each.name),
            "size": lambda each: each.size,
            "lag": lambda each: each.lag,
        },
        visit.query("sort"),
        visit.number("page", 1, 1, 1_000_000),
        {"q": text, "state": state, "internal": internal},
    )
    return visit.page(
        "topics_rows.html" if visit.is_part else "topics.html",
        listed=listed,
        rates=rates,
        text=text,
        state=state,
        internal=internal,
        all_topics=[each for each in timed.overview.topics if not each.is_internal],
        troubled=sum(1 for each in timed.overview.topics if _is_troubled(each)),
        silent=timed.overview.silent,
        age=visit.console.overviews.age(timed),
        is_whole=timed.overview.is_whole,
    )


def new_topic(visit: Visit) -> Response:
    """Show the form of a new topic."""
    return visit.page("topic_new.html", problem="", given={})


def create_topic(visit: Visit) -> Response:
    """Make a topic."""
    name = visit.field("name").strip()
    if not name:
        raise WrongUsageError("a topic needs a name")
    partitions = whole_number(visit.field("partitions"), "partitions", 1, MOST_PARTITIONS)
    factor = whole_number(visit.field("replication_factor"), "replicas", 1, 1000)
    configs = dict(assignments(visit.field("configs")))
    new = NewTopic(name, partitions or BROKER_DEFAULT, factor or BROKER_DEFAULT, config=configs)
    with visit.cluster() as cluster:
        answer(cluster.admin.create_topics([new], request_timeout=ANSWER_TIMEOUT_S)[name], f"topic {name}")
        wait_until_known(cluster, [name])
    visit.console.overviews.forget()
    return visit.go(topic.address(name), f"topic {name} is there")


def _is_troubled(found: TopicOverview) -> bool:
    return bool(found.under_replicated or found.offline)


PAGE = ConsolePage(
    "Topics",
    "/topics",
    [
        view("/topics", show_topics),
        view("/new-topic", new_topic),
        action("/new-topic", create_topic),
        *messages.ROUTES,
        *produce.ROUTES,
        *producers.ROUTES,
        *tail.ROUTES,
        *topic.ROUTES,
    ],
)
