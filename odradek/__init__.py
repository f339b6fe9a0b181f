"""The `odradek` command: what a person does with the broker."""

__version__ = "0.1.0"
