"""Families of bugs: which faults are the same mistake, under which conditions the policy makes it, in one sentence."""
