"""A small blocking client: one connection to a broker, requests out and answers in.

It is what the command and the data sources for Spark ask where librdkafka cannot be asked, or makes an object of each
record. Load clients of the benchmarks send ready-made bytes, and the tests' client shares no code with the broker; both
are on their own for that.
"""
