"""What the world does to a running broker: full disks, kills, hostile and slow clients, jumping clocks, damaged files.

Every test runs the broker as a process of its own and talks to it over its socket.
"""
