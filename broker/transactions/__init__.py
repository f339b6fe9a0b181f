"""Transactions: who coordinates them, and what the leaders of their partitions do for them."""
