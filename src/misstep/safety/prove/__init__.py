"""Proof that a policy is clean: see `models`. Planning tasks have theirs in `misstep.oracles.prove`."""

from misstep.safety.prove.models import ProveSettings, prove_safe
from misstep.safety.prove.result import Finding, Proof

__all__ = ["Finding", "Proof", "ProveSettings", "prove_safe"]
