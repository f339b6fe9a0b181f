"""Brokers for the tests of users."""
