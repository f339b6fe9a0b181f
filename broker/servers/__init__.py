"""The composition roots, in Kafka's words: what every node has (`shared`), and its roles on top."""
