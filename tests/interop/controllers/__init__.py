"""The same events sent to Apache Kafka's controller and to the project's: answers and records must be the same.

`talk` is a test's hand on one controller: brokers that it plays, requests, and what was written after each of them.
`naming` replaces what two right controllers choose differently. `scenarios` are the events.
"""
