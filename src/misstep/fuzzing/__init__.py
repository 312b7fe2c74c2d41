"""Pools of test states: random walks, drawn to where a policy looks bad."""
