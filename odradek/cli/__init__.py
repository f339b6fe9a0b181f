"""What all subcommands share: the application, options, output, errors, exit codes.

A subcommand is a function in `odradek.commands` that `command.online` or `command.offline` registers. Nothing in here
knows what a subcommand does.
"""
