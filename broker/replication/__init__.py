"""Partitions with several replicas: what their leaders know of followers, and how followers keep up."""
