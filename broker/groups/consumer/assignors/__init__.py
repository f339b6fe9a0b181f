"""Server-side assignors of consumer groups: pure functions from members and topics to who is to have what (KIP-848)."""
