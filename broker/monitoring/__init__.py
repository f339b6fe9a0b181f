"""Metrics and probes of a running node: what is measured for them, and how it is collected when somebody asks."""
