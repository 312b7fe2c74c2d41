"""Relational graph networks that value states; the policy steps to the successor of least value."""

from misstep.policies.gnn.policy import GNNPolicy, load

__all__ = ["GNNPolicy", "load"]
