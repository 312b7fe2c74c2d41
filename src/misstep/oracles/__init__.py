"""Oracles: is a policy as good as possible in a state?

`Workbench` holds a policy, its runs and the bound store; `parse_oracle` makes an oracle from a spec; its `test` gives a
`Verdict`; `check_witness` has a verdict replayed by the independent checker.
"""

from misstep.oracles.bounds import BoundStore
from misstep.oracles.grammar import DEFAULT_ORACLE, parse_oracle
from misstep.oracles.oracle import Oracle, Walk
from misstep.oracles.verdict import Kind, Objective, Status, Verdict, is_fuzzing_bug
from misstep.oracles.witness import check_witness
from misstep.oracles.workbench import Workbench

__all__ = [
    "DEFAULT_ORACLE",
    "BoundStore",
    "Kind",
    "Objective",
    "Oracle",
    "Status",
    "Verdict",
    "Walk",
    "Workbench",
    "check_witness",
    "is_fuzzing_bug",
    "parse_oracle",
]
