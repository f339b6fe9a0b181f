"""The `odradek` command. `serve` must be up in a fraction of a second, so only what is asked for is imported."""

import sys


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code (see `odradek.terminal.errors`)."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["serve"]:
        from odradek.serving import serve

        return serve(given[1:])
    import signal

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # to be asked to end is the same as Ctrl-C
    try:
        from odradek.cli.app import run

        return run(given)
    except KeyboardInterrupt:
        return 130  # also while it is still importing


if __name__ == "__main__":
    sys.exit(main())
