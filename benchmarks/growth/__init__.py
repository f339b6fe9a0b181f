"""How what the broker takes grows with what it has: connections, partitions, record size, consumers, groups, data."""
