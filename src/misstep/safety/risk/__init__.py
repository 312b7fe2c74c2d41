"""Avoidable risk: how likely a policy gets unsafe, and how likely that is for the best strategy there is.

Whether a state is safe is about the worst case. In a model where nothing is safe for certain, every run may get
unsafe and no state is a bug, and that tells a good policy from a bad one as little as a bad one from a worse. The
probabilities of the model do. For a state there are two numbers: the probability that the policy gets unsafe from
there, and the least that any strategy can reach. Their difference is what the policy could have avoided.

Both are given as intervals that hold in floating point (core/safety/risk.h says why), from all states that can be
reached. Where there are too many, what was not explored counts as 0 from below and as 1 from above, and the policy's
risk is estimated from seeded runs beside it.

Where several edges of one label are enabled, the policy has chosen the label, and which edge is taken is up to the
environment: it takes the worst, as in the rest of this package. Both numbers are meant that way.
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
