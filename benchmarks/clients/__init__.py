"""The loads: functions that run in a process of their own, drive a broker (or a floor program) and return figures.

Each takes one frozen value that says what to do and returns one frozen value that says what was seen, so that both can
cross to another process.
"""
