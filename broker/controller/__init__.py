"""The active controller: what it decides about topics, partitions, brokers, configs and features (KIP-500, KIP-631).

The planning modules are pure: an image of the metadata, an event and the time in, records and answers out. `controller`
proposes what they plan, in the order in which it was asked.
"""
