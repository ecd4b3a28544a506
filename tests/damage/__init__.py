"""Damaged inputs, and the fork server that tries commands on them."""
