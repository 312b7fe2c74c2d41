"""Oracles: who says that a state is a bug, and proves it."""
