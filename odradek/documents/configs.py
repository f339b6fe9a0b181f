"""The documents of `odradek configs`."""

from odradek.documents.document import Document

_RESOURCE: Document = {
    "resource": "topic, broker, group or client-metrics",
    "name": "its name or id; null with --broker-defaults",
}
LISTED: Document = {
    "resources[]": {"resource": "group or client-metrics", "name": "its name"},
}
DESCRIBED: Document = {
    **_RESOURCE,
    "configs[]": {
        "name": "of the config",
        "value": "always a string; null if it has none, or if it is secret",
        "source": "DEFAULT_CONFIG, DYNAMIC_TOPIC_CONFIG, ...: Kafka's name for where it comes from",
        "sensitive": "whether it is secret",
        "read_only": "whether only the broker's file can set it",
    },
}
ALTERED: Document = {
    **_RESOURCE,
    "set{}": "values that were set, by their names",
    "deleted[]": "names of configs that were taken back",
}
