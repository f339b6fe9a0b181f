"""Measuring: what a load does to a cluster, in numbers."""
