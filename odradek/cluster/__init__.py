"""Talking to a Kafka cluster as a client: connecting, asking, and errors in words.

Knows confluent-kafka, and nothing of arguments or tables.
"""
