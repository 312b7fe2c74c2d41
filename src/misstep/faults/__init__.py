"""Faults: the decisions of a run that are to blame, and the smallest repair."""
