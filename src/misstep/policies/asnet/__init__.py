"""Action Schema Networks: policies whose weights can be used on every task of a domain."""

from misstep.policies.asnet.policy import ASNetPolicy, load

__all__ = ["ASNetPolicy", "load"]
