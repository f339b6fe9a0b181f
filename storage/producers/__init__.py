"""What a partition knows of its producers, and how that is kept over a restart (KIP-98, KIP-890)."""
