"""Metrics for Prometheus, whoever has them: their names, how they are written, and the HTTP port they are at."""
