"""Spark data source `odradek`: topics as DataFrames, in batch and streaming, without a JAR.

Spark finds the package by the beginning of its name, and the data source by the name `DefaultSource`.
"""

from pyspark_odradek.source import OdradekDataSource as DefaultSource

__all__ = ["DefaultSource"]
