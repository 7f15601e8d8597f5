"""Arithmetic without poses and files: arrays, rotations, robust statistics, graphs."""
