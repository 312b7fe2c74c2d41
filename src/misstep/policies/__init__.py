"""Policies: one batched protocol, and all kinds of policies that implement it."""
