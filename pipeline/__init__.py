"""Jobs on Spark: topics to Parquet (`archive`), a running count of words (`wordcount`), topics into topics (`relay`).

A job is pure transforms of DataFrames and one method that keeps a micro-batch; `running` is what they share. They reach
a broker over the network alone, and run on any Kafka cluster.
"""
