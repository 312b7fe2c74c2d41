"""The independent checker: a second, slow and simple check of every witness.

Misstep says "bug" only when it can show a plan that does better than the policy. That plan comes
out of fast code: packed states, successor generators, incremental bounds, searches. If one of
those has a bug, the code that found the plan and the code that would confirm it are likely to be
wrong in the same way, and the wrong answer confirms itself. So nothing here shares a line with
them. The package reads the task again from the text of the SAS file, with its own parser, keeps
a state as a plain tuple of integers, and executes the plan one operator at a time.

Three rules keep it trustworthy:

* It imports the standard library and `misstep.errors`, nothing else; a test holds it to that.
* It prefers clear code over fast code. Speed is needed only so far that a check never costs
  more than finding the plan did.
* When in doubt it refuses. A file that is not exactly what the format says is an error, and a
  task with a feature whose meaning is not implemented here (axioms) is unsupported; neither
  ever becomes VALID or INVALID.

`sas` reads tasks, `semantics` says what an operator does, `plan` validates plans, `run` runs of policies, `dominance`
bounds that are derived, and `strategy` what a safety bug rests on; `jani` reads models. `campaign` puts them together
and checks whole campaigns from their files. `python -m misstep.checking` does it with nothing but Python installed.
"""

from misstep.checking.dominance import DerivationReport, DominanceTables, validate_derivation
from misstep.checking.errors import CheckError
from misstep.checking.plan import Failure, PlanReport, parse_plan, read_plan, validate_plan
from misstep.checking.run import RunReport, validate_run
from misstep.checking.sas import SasTask, parse_sas, read_sas
from misstep.checking.strategy import (
    Fragment,
    Situation,
    StrategyReport,
    validate_strategy,
    validate_unsafe_run,
)

# Not `campaign`, so that replaying a plan does not import the reader of models.
__all__ = [
    "CheckError",
    "DerivationReport",
    "DominanceTables",
    "Failure",
    "Fragment",
    "PlanReport",
    "RunReport",
    "SasTask",
    "Situation",
    "StrategyReport",
    "parse_plan",
    "parse_sas",
    "read_plan",
    "read_sas",
    "validate_derivation",
    "validate_plan",
    "validate_run",
    "validate_strategy",
    "validate_unsafe_run",
]
