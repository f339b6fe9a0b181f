"""The `odradek` command: what a person does with the broker."""

__version__ = "0.2.0"
