"""What all subcommands share: the application, options, arguments, and the reference that is made of them.

A subcommand is a function in `odradek.commands` that `command.online` or `command.offline` registers. Nothing in here
knows what a subcommand does.
"""
