"""Avoidable risk: the probability that a policy gets into an unsafe state, compared with the best strategy.

Whether a state is safe is about the worst case. In a model where no state is safe for certain, no state is a bug, so
bugs cannot distinguish good policies from bad ones. The probabilities of the model can. For each state there are two
numbers: the probability that the policy gets into an unsafe state, and the least probability of any strategy. Their
difference is the risk that the policy could have avoided.

Both are given as intervals that hold in floating point (core/safety/risk.h says why), from all states that can be
reached. If there are too many, unexplored states count as 0 for lower bounds and as 1 for upper bounds, and the
policy's risk is also estimated from random runs with a seed.

If several edges of one label are enabled, the environment chooses the edge, and the worst one counts, as in the rest of
this package. This holds for both numbers.
"""

from misstep.safety.risk.analysis import RiskAnalysis, RiskSettings, risk
from misstep.safety.risk.intervals import (
    Interval,
    LikelyRun,
    RiskFault,
    RiskReport,
    Sample,
    StateRisk,
)
from misstep.safety.risk.sampling import sample_risk

__all__ = [
    "Interval",
    "LikelyRun",
    "RiskAnalysis",
    "RiskFault",
    "RiskReport",
    "RiskSettings",
    "Sample",
    "StateRisk",
    "risk",
    "sample_risk",
]
