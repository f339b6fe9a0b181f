"""A cluster whose nodes are processes of this machine: what is in its directory, and starting and stopping them."""
