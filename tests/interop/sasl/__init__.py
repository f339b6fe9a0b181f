"""Logging in, with Apache Kafka as the judge."""
