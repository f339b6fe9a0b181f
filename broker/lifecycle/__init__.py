"""The life of a broker in a cluster: registered, fenced until it has caught up, running, leaving in order."""
