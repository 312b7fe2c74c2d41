"""Relational graph networks that value states; the policy moves to the successor with the lowest value."""

from misstep.policies.gnn.policy import GNNPolicy, load

__all__ = ["GNNPolicy", "load"]
