"""Kafka's record format: what lies in a log, and in the records field of Produce and Fetch.

    batch        the header of a batch, and walking from batch to batch
    record       the records inside a batch
    building     new batches
    legacy       messages of versions 0 and 1, and wrappers of them; `legacy_building` makes them
    reading      the records of an entry of any version
    conversion   up to batches, down to messages
    control      transaction markers and KRaft's notes
    compression  the four codecs, with `lz4` and `snappy` for the forms that are Kafka's own
    checksum     CRC-32C
    varint       integers of variable length
    errors       what can be wrong, with Kafka's codes

Sans-I/O, and nothing of requests: a batch is bytes here. Modules are imported one by one; this one imports nothing.
"""
