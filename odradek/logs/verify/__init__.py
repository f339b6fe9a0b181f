"""Checking a log directory offline: every file against what it must be, and against the data that it is derived from.

The data files are gone over once; everything else is held against them on the way. Nothing is changed, but by
`repair`, which makes indexes anew.
"""
