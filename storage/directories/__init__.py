"""The log directories of a broker: whose they are, what is in them, and all the logs together."""
