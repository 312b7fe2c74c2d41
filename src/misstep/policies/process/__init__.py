"""Policies that are programs of their own: `exec:COMMAND`, JSON lines over pipes."""

from misstep.policies.process.policy import ProcessPolicy, load

__all__ = ["ProcessPolicy", "load"]
