"""Programs that each run one member of a group with one client library and report what happens to it.

They write one JSON object per line to standard output, with the names and fields of Apache Kafka's VerifiableConsumer,
so that a test reads all members alike. SIGTERM makes a member leave in order.
"""
