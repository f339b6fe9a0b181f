"""The subcommands, a module for each group of them."""
