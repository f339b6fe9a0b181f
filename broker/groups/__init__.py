"""Groups of consumers: pure state machines, and the thin service that gives them a log, timers and clients."""
