"""Reading segment files of a log directory, offline: which bytes of them are needed, and from bytes to Arrow."""
