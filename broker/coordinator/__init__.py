"""The coordinator runtime: what is common to everything that keeps its state in the partitions of an internal topic.

A kind of coordinator (of groups; of transactions) brings a state machine for one partition and a table of what its
records mean. The runtime loads a partition's records into such a machine where this broker leads the partition, lets it
go with the leadership, and carries out what it wants: appends, timers, answers. It knows nothing of any kind.
"""
