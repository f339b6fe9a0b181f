"""A cluster in one process, with virtual time: the real modules on sockets, files and clocks that a seed decides on."""
