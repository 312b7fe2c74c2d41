"""Dominance functions: lower bounds on how much better one state is than another.

A dominance function D has D(s, t) <= h*(s) - h*(t) for all states s with a plan, or no value. So an upper bound on
h*(s) gives one on h*(t): h*(t) <= u(s) - D(s, t). The first argument is always the dominated state, the second the
dominating one, as in the papers.
"""

from misstep.oracles.dominance.attempt import try_dominance
from misstep.oracles.dominance.function import DominanceFunction, FactorInfo, Part
from misstep.oracles.dominance.index import ComparisonIndex, Exchange, Pull, Push
from misstep.oracles.dominance.public import dominance
from misstep.oracles.dominance.settings import DominanceSettings

__all__ = [
    "ComparisonIndex",
    "DominanceFunction",
    "DominanceSettings",
    "Exchange",
    "FactorInfo",
    "Part",
    "Pull",
    "Push",
    "dominance",
    "try_dominance",
]
