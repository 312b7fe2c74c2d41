"""Faults: which decisions of a run are to blame, and the least that would have to change."""
