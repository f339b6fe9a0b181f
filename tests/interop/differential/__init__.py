"""The same requests sent to Apache Kafka and to odradek, the answers compared field by field.

`play` plays a scenario against one broker, `normalise` replaces what must differ between two brokers (ports, ids,
times), `compare` finds what differs beyond that, `intended` lists the differences that are meant to be. A scenario is a
generator of requests: it gets each answer back, so that a later request can use what an earlier answer said.

`python -m tests.interop.differential PORT_A PORT_B [scenario ...]` compares two brokers that run already.
"""
