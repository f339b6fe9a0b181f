"""Classic consumer groups (JoinGroup, SyncGroup, Heartbeat, LeaveGroup) as a pure state machine.

`group.ClassicGroup` is the machine, `values` is what goes in and comes out, `states` says what a group can be and how
it moves. No module here knows a clock, a socket, a log or a source of random numbers.
"""
