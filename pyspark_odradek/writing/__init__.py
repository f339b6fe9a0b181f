"""Writing to topics: options, from rows to records, the producer, and the batch and streaming writers.

What is guaranteed: a task ends well only when all its records are acknowledged (`acks=all`), and within the producer of
one task nothing is lost, doubled or reordered by sending again (idempotence, KIP-98). A task that fails and that Spark
tries again has a new producer and writes all of its records once more; so does a micro-batch that is repeated after a
restart. Every record is thus written at least once, as with Spark's own `kafka` sink. Readers who must see each record
once drop the doubles by something in the record that tells them; or the offsets of the source are committed in the same
transactions as the records (`transactions`), as the relay of `odradek pipeline` can.
"""
