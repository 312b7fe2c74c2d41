"""Safety of policies in non-deterministic systems.

Find unsafe runs, decide whether they could be avoided, find the decisions to blame, and shield the policy from them.

`System` is a policy on a transition system; `fuzz` looks for unsafe runs; a `Decider` decides whether states are safe;
`judge` makes verdicts, `analyse` finds faults, `OracleShield` and `Blacklist` are shields.
"""

from misstep.safety.census import SafetyCensus, safety_census
from misstep.safety.decider import Answer, Budget, Decider, Safety, Strategy
from misstep.safety.distance import policy_distance
from misstep.safety.faults import Fault, FaultReport, PathReport, StepReport, analyse, analyse_all
from misstep.safety.fuzz import (
    CONFIGURATIONS,
    FUZZINGS,
    Envelope,
    FuzzReport,
    FuzzSettings,
    UnsafeRun,
    envelope,
    fuzz,
)
from misstep.safety.jani import jani_transitions
from misstep.safety.severity import Radii, SeverityReport, severities
from misstep.safety.shield import Blacklist, OracleShield, ShieldTable, harden, repair
from misstep.safety.system import Model, System
from misstep.safety.verdict import SafetyVerdict, Status, judge
from misstep.safety.witness import check_run, check_strategy

__all__ = [
    "CONFIGURATIONS",
    "FUZZINGS",
    "Answer",
    "Blacklist",
    "Budget",
    "Decider",
    "Envelope",
    "Fault",
    "FaultReport",
    "FuzzReport",
    "FuzzSettings",
    "Model",
    "OracleShield",
    "PathReport",
    "Radii",
    "Safety",
    "SafetyCensus",
    "SafetyVerdict",
    "SeverityReport",
    "ShieldTable",
    "Status",
    "StepReport",
    "Strategy",
    "System",
    "UnsafeRun",
    "analyse",
    "analyse_all",
    "check_run",
    "check_strategy",
    "envelope",
    "fuzz",
    "harden",
    "jani_transitions",
    "judge",
    "policy_distance",
    "repair",
    "safety_census",
    "severities",
]
