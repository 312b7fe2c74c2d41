"""Families of bugs: group faults that are alike, and describe when the policy makes it in one sentence."""
