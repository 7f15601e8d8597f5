"""Rigs that are given."""
