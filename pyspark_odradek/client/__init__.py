"""A small blocking Kafka client that hands out record batches as bytes.

Clients made for messages give an object per message, which costs more than all the rest of reading. This one knows a
few requests (Metadata, ListOffsets, Fetch) over plain TCP and TLS; where a cluster asks for more, `librdkafka` reads.
"""
