"""Whether new topics can be used, as `odradek topics create` finds out."""

from unittest.mock import Mock

import pytest

from odradek.commands import topics
from odradek.terminal.errors import CommandError


def test_a_broker_that_has_not_heard_of_a_new_topic_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one knew it a moment before."""
    known = Mock(side_effect=[CommandError("topic t does not exist"), [0, 1]])
    ends = Mock()
    monkeypatch.setattr(topics, "partitions_of", known)
    monkeypatch.setattr(topics, "latest", ends)
    cluster = Mock()
    assert topics._unusable(cluster, ["t"]) is None
    ends.assert_called_once_with(cluster.admin, [("t", 0), ("t", 1)])
