"""Families of bugs: group faults that are alike, and describe in one sentence when the policy makes them."""
