"""Policies: one batched protocol, and everything that can stand behind it."""
