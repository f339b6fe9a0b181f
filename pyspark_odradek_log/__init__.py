"""Spark data source `odradek-log`: segment files of a log directory as DataFrames, without a broker.

Spark finds the package by the beginning of its name, and the data source by the name `DefaultSource`.
"""

from pyspark_odradek.log_files.source import LogFilesDataSource as DefaultSource

__all__ = ["DefaultSource"]
