"""Apache ZooKeeper as a place for the offsets of consumers, where Kafka kept them before it had groups of its own.

`address` reads how people say where it is, `session` is a client that waits for a limited time, `consumer_offsets`
knows Kafka's layout of nodes. For the jobs and the command; the broker has no use for it. Needs kazoo.
"""
