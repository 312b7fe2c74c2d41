"""Prove that a policy is safe on a model (`models`). Proofs for planning tasks are in `misstep.oracles.prove`."""

from misstep.safety.prove.models import ProveSettings, prove_safe
from misstep.safety.prove.result import Finding, Proof

__all__ = ["Finding", "Proof", "ProveSettings", "prove_safe"]
