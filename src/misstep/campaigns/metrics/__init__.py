"""The metrics of the papers, computed from records alone.

Everything here is a pure function of records; nothing runs a policy or an oracle again. A quotient whose divisor is
0 is None, not 0, because "no data" is not a bad score. `Campaign.metrics` gives all metrics of one campaign.
"""

from misstep.campaigns.metrics.all import all_metrics
from misstep.campaigns.metrics.coverage import Coverage, TestedPool, oracle_coverage
from misstep.campaigns.metrics.pairs import unique_pair_fraction
from misstep.campaigns.metrics.recall import JointRecall, Recall, joint_recall, recall
from misstep.campaigns.metrics.regions import regions, successors_in
from misstep.campaigns.metrics.sets import BasicSets, basic_sets, mean, ratio
from misstep.campaigns.metrics.severity import Severity, severity
from misstep.campaigns.metrics.timeline import bugs_over_time

__all__ = [
    "BasicSets",
    "Coverage",
    "JointRecall",
    "Recall",
    "Severity",
    "TestedPool",
    "all_metrics",
    "basic_sets",
    "bugs_over_time",
    "joint_recall",
    "mean",
    "oracle_coverage",
    "ratio",
    "recall",
    "regions",
    "severity",
    "successors_in",
    "unique_pair_fraction",
]
