"""What the `--json` documents of the commands hold: docs/cli.md shows it, tests hold what is printed to it."""
