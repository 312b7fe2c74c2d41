"""Families of bugs: group faults that are the same mistake, and describe when the policy makes it in one sentence."""
