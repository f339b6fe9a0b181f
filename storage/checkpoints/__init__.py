"""The small files that stand beside the data: Kafka's checkpoints, and the id of the topic."""
