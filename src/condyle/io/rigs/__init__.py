"""Rigs that are given as files, which take a motion: their bones at rest, and the same file with that motion in it."""
