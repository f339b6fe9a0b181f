"""The wire of the controller quorum (KIP-595, KIP-630, KIP-853, KIP-1166): how others get the metadata log of its
leader."""
