"""Segments: the data files of a log, the indexes that derive from them, and reading batches from both."""
