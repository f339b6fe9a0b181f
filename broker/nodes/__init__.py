"""Requests to other nodes of the cluster: brokers and controllers."""
