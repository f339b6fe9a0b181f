"""`odradek console`: a web page for any Kafka cluster.

Owns: what a browser is shown and may ask. Must not know: the broker, its files' formats (`odradek.logs` does), how a
cluster is asked (`odradek.cluster` does). Pages are made on the server; htmx renews parts of them.
"""
