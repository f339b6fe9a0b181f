"""A name means one thing in the whole project."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("broker", "config", "odradek", "pipeline", "protocol", "pyspark_odradek", "pyspark_odradek_log", "storage")
MESSAGES = ROOT / "protocol" / "messages"
"""Left out: the names of structs are those of Kafka's schemas, in which each belongs to its message alone."""
ALLOWED = {"TopicPartition"}
"""The Spark sources have one of their own, the same in meaning, so that a user's process imports less."""


def _public_classes() -> Iterator[tuple[str, Path]]:
    modules = {path.resolve() for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    for path in sorted(modules):
        if MESSAGES not in path.parents:
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    yield node.name, path.relative_to(ROOT)


def test_no_two_public_classes_have_one_name() -> None:
    """Who reads a name, or searches for it, finds one class."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for name, path in _public_classes():
        places[name].append(str(path))
    assert len(places) > 300
    assert {name: paths for name, paths in places.items() if len(paths) > 1 and name not in ALLOWED} == {}
