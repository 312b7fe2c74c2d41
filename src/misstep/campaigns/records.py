"""The record: what is kept of one tested state, the same in both worlds, as plain data.

Records know nothing of tasks, policies and oracles, so that whatever reads them (reports, comparisons, a script of a
user) needs none of those. Operators of a task and labels of a model are both called operators here: an id, which is
what counts, and a name, which is for people and need not be unique. An infinite number is None.

`Record.as_dict` is a line of `misstep records --json`; docs/records.md describes each field and is compared with the
descriptions here.
"""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from misstep.campaigns.rows import KINDS, VERDICTS, Ids, Values

WITNESSES = ("plan", "derivation", "strategy", "none")
Interval = tuple[int | None, int | None]


def _is(description: str) -> Any:
    """A field with the sentence that documents it."""
    return field(metadata={"description": description})


def _may_be(description: str) -> Any:
    """The same with None where it does not apply."""
    return field(default=None, metadata={"description": description})


@dataclass(frozen=True)
class Operators:
    """A sequence of operators."""

    operators: Ids = _is("The ids: places in the SAS file, or among the labels of the model.")
    names: tuple[str, ...] = _is("The names, in the same order.")


@dataclass(frozen=True)
class Decision:
    """One operator."""

    operator: int = _is("Its id. Below 0, in contradictions only: none, as the name says.")
    name: str = _is("Its name.")


@dataclass(frozen=True)
class Found:
    """How a state was found."""

    walk: Operators | None = _is(
        "The walk from the initial state, through all reference states. Null if there is none."
    )
    reference: int | None = _is("Number of the state where the last walk began.")
    iteration: int | None = _is("The iteration of the fuzzer that found it.")
    run: int | None = _is("Of a model: the number of the fuzzer's run that the state lies on.")
    step: int | None = _is("Of a model: the step of that run.")


@dataclass(frozen=True)
class Permitted:
    """All permitted runs of a set-valued policy."""

    closed: bool = _is("Whether all of them are known: there were not too many states to explore.")
    least: int | None = _is("No permitted run is cheaper; null: none reaches the goal.")
    most: int | None = _is(
        "What the dearest one costs; null: some permitted run fails, or not all of them are known."
    )


@dataclass(frozen=True)
class Run:
    """What the policy did from the state."""

    outcome: str = _is(
        "goal, loop, stuck, inapplicable, error (the policy crashed), timeout or cut; of a model: unsafe, and in a "
        "retest safe (all that the policy can get to was explored, and none of it is unsafe), cut, error or timeout."
    )
    operators: Ids = _is("The ids of the operators that it applied.")
    names: tuple[str, ...] = _is("Their names.")
    cost: int | None = _is("What they cost, also if the run failed or was cut; null of a model.")
    states: tuple[Values, ...] | None = _is(
        "Of a model: the states that it passed, one more than operators."
    )
    message: str | None = _is("What the policy, or its runner, said where it failed.")
    permitted: Permitted | None = _may_be(
        "Of a set-valued policy: what is known of all permitted runs; the run itself is the worst that was found."
    )
    risk: tuple[float, float] | None = _may_be(
        "With --risk: bounds on the probability that the run of a stochastic policy does not end in a goal; of a "
        "model, on the probability that the policy gets into an unsafe state."
    )
    least_risk: tuple[float, float] | None = _may_be(
        "Of a model, with --risk: bounds on the least such probability of any strategy."
    )
    avoidable: float | None = _may_be(
        "Of a model, with --risk: how much of the policy's risk could be avoided, at least; 0 if none is certain."
    )


@dataclass(frozen=True)
class Witness:
    """What proves the verdict."""

    type: str = _is("plan, derivation, strategy or none: the strongest proof at hand.")
    operators: Ids | None = _is(
        "The ids of a plan from the state; it may stand beside a derivation."
    )
    names: tuple[str, ...] | None = _is("The names of its operators.")
    cost: int | None = _is("What the plan costs.")
    steps: tuple[dict[str, Any], ...] | None = _is(
        "The derivation: operators, and jumps to dominated states with the value of each factor."
    )
    bound: int | None = _is("The cost that the derivation proves to be enough.")
    strategy: tuple[tuple[Values, int, str], ...] | None = _is(
        "Of a model: for each state that can come up, the label to take. Null if it is too large."
    )
    size: int | None = _is("Of a model: the number of states that the strategy names.")


@dataclass(frozen=True)
class Effort:
    """What was spent."""

    expansions: int = _is("States expanded; not counted of a model.")
    evaluations: int = _is("Heuristic values computed; of a model: nodes of the decider.")


@dataclass(frozen=True)
class Opinion:
    """The verdict of one oracle."""

    oracle: str = _is("The spec of the oracle.")
    source: str | None = _is("The part of it that decided. Null: known from other states.")
    verdict: str = _is("BUG, OPTIMAL, NOT A BUG, UNKNOWN or FLAKY.")
    kind: str | None = _is("Of a bug: as in the record.")
    gap: Interval | None = _is("As in the record.")
    radius: Interval | None = _is("As in the record.")
    bounds: Interval | None = _is("As in the record.")
    witness: Witness = _is("As in the record.")
    effort: Effort = _is("As in the record.")
    seconds: float = _is("Time that this oracle took for this state.")
    at: float = _is("When the verdict was known, in seconds of work on the task.")

    @property
    def is_bug(self) -> bool:
        return self.verdict == "BUG"


@dataclass(frozen=True)
class Fault:
    """A decision that loses something."""

    step: int = _is("The step of the record's run.")
    state: Values = _is("Where it was taken.")
    facts: tuple[str, ...] = _is("The same state in words.")
    decision: Decision | None = _is("What the policy did. Null: it stopped.")
    better: Decision | None = _is("What would have been better, where it is known.")
    loss: Interval = _is("How much is lost: at least and at most. Of a model: null, null.")
    share: float | None = _is("The part of the gap that it carries, where all losses are known.")
    recurring: bool = _is("Whether it happens again in every round of a loop.")
    outcome: Values | None = _is("Of a model: an outcome of the decision that is not safe.")


@dataclass(frozen=True)
class Contradiction:
    """Two answers to one state."""

    step: int = _is("The step of the record's run.")
    state: Values = _is("Where the policy was asked.")
    facts: tuple[str, ...] = _is("The same state in words.")
    first: Decision = _is("What it answered first, as on the run.")
    second: Decision = _is("What it answered when it was asked again.")
    asked: int = _is("How often it was asked until then.")


@dataclass(frozen=True)
class Times:
    """Where the time went."""

    pool: float = _is("Finding the state.")
    run: float = _is("Running the policy from it.")
    judge: float = _is("Judging, by all oracles.")


@dataclass(frozen=True)
class Record:
    """One tested state."""

    id: str = _is("TASK:NUMBER, the handle of the record in every command and file.")
    world: str = _is("planning or model.")
    task: str = _is("The name of the task or model.")
    number: int = _is("The number of the state, from 0, in the order in which states were found.")
    state: Values = _is("The value of each variable.")
    facts: tuple[str, ...] = _is("The state in words: the true atoms, or the named values.")
    found: Found = _is("How the state was found.")
    run: Run = _is("The policy's run from the state.")
    verdict: str = _is(
        "BUG, OPTIMAL (of a model: NOT A BUG) or UNKNOWN: the best that an oracle has proven. FLAKY: the policy "
        "answers differently when it is asked again, so that nothing is said. OPTIMAL with a lower bound of null is "
        "a state without a plan."
    )
    kind: str | None = _is(
        "Of a bug: fails (does not reach the goal), costly (reaches it at more than needed), crash, unsafe, or "
        "unclassified (the run was cut after having spent more than a plan costs). Of a set-valued policy: fails-all "
        "(no permitted run reaches the goal), fails-some (a permitted run fails), costly-best (a plan is cheaper than "
        "every permitted run), costly-some (a plan is cheaper than some permitted run)."
    )
    gap: Interval | None = _is(
        "How much the policy loses, at least and at most; a null is infinite. Null of a model."
    )
    radius: Interval | None = _is(
        "Of a model: the least number of deviations from the policy that avoid unsafe states, at least and at most; "
        "[null, null] if nothing avoids it. Null: nobody asked (--severity), or nothing is known."
    )
    bounds: Interval | None = _is("Bounds on the cost of the cheapest plan; null of a model.")
    witness: Witness = _is("What proves the verdict.")
    oracle: str = _is("The spec of the oracle whose verdict this is.")
    source: str | None = _is(
        "The part of that oracle that decided. Null: known from other states. In a retest: witness, if what the old "
        "campaign has proven decided, or all runs, if all runs of the policy were explored. Of UNKNOWN: not asked "
        "again, if the work ended before the policy was asked again, so that the verdict is withheld; open, not asked "
        "again, if there is none, and the run does not count either."
    )
    verdicts: tuple[Opinion, ...] = _is("One for each oracle that judged.")
    faults: tuple[Fault, ...] | None = _is(
        "The decisions of the run that are proven to lose something. Null: not looked for."
    )
    family: str | None = _is(
        "The lifted signature of the fault that carries most of the gap: what the policy chose instead of what. Null: "
        "no fault is proven."
    )
    contradictions: tuple[Contradiction, ...] = _is(
        "Of a FLAKY record: the states of the run where the policy gave two answers. None: it contradicts itself "
        "elsewhere, in so many states that nothing is said of any, or declares that it is not deterministic."
    )
    effort: Effort = _is("What the oracles spent on this state.")
    times: Times = _is("Seconds.")
    at: float = _is("When the verdict was known, in seconds of work on the task.")
    fuzzing_bug: bool | None = _is(
        "Whether the gap is larger than that of the state where its walk began (P22); null: the gaps do not tell."
    )
    chooser: str | None = _may_be(
        "What the result belongs to beside the policy: the fixed rule that chose among what it permits, or --revisit "
        "avoid. Null: the policy alone."
    )

    @property
    def is_bug(self) -> bool:
        return self.verdict == "BUG"

    @property
    def is_unsolvable(self) -> bool:
        """Whether the state is proven to have no plan."""
        return self.verdict == "OPTIMAL" and self.bounds is not None and self.bounds[0] is None

    def as_dict(self) -> dict[str, Any]:
        """Plain lists, dictionaries, numbers and texts."""
        plain: dict[str, Any] = _plain(self)
        return plain

    def as_row(self) -> dict[str, Any]:
        """One flat dictionary, for tables: without lists, and with counts in their place."""
        gap = self.gap or (None, None)
        radius = self.radius or (None, None)
        lower, upper = self.bounds or (None, None)
        return {
            "id": self.id,
            "world": self.world,
            "task": self.task,
            "number": self.number,
            "state": ", ".join(self.facts),
            "outcome": self.run.outcome,
            "steps": len(self.run.operators),
            "cost": self.run.cost,
            "verdict": self.verdict,
            "kind": self.kind,
            "gap_low": gap[0],
            "gap_high": gap[1],
            "radius_low": radius[0],
            "radius_high": radius[1],
            "lower_bound": lower,
            "upper_bound": upper,
            "witness": self.witness.type,
            "oracle": self.oracle,
            "source": self.source,
            "faults": None if self.faults is None else len(self.faults),
            "family": self.family,
            "expansions": self.effort.expansions,
            "evaluations": self.effort.evaluations,
            "seconds": self.times.judge,
        }

    def __str__(self) -> str:
        return f"{self.id}: {headline(self)}"

    def _repr_html_(self) -> str:
        rows = [
            ("record", self.id),
            ("verdict", headline(self)),
            ("state", ", ".join(self.facts)),
            (
                "the policy",
                " ".join(f"({name})" for name in self.run.names) + f" {self.run.outcome}",
            ),
        ]
        if self.witness.names is not None:
            rows.append(("a better plan", " ".join(f"({name})" for name in self.witness.names)))
        for own in self.contradictions:
            rows.append(("asked again", f"step {own.step}: {contradiction_text(own)}"))
        for fault in self.faults or ():
            rows.append(("fault", fault_text(fault)))
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(title)}</th><td>{html.escape(text)}</td></tr>"
            for title, text in rows
        )
        return f"<table>{cells}</table>"


def headline(record: Record) -> str:
    """The verdict in a few words."""
    if not record.is_bug:
        return "OPTIMAL, unsolvable" if record.is_unsolvable else record.verdict
    if record.radius is not None:
        return f"BUG, unsafe, {radius_text(record.radius)}"
    gap = "" if record.gap is None else f", gap {interval_text(record.gap)}"
    return f"BUG, {record.kind}{gap}"


def no_bug_text(record: Record) -> str:
    """What to say where a bug is expected."""
    what = "not proven to be a bug" if record.verdict == "UNKNOWN" else "not a bug"
    return f"{record.id} is {what}: {record.verdict}"


def fault_text(fault: Fault) -> str:
    """A fault in one sentence without a full stop."""
    did = "stops" if fault.decision is None else f"({fault.decision.name})"
    text = f"step {fault.step}: {did}"
    if fault.better is not None:
        text += f" instead of ({fault.better.name})"
    if fault.outcome is None:
        text += f", loses {interval_text(fault.loss)}"
    return text


def contradiction_text(own: Contradiction) -> str:
    """Both answers, as in "(pick a b), then no action"."""
    return f"{_answer(own.first)}, then {_answer(own.second)}"


def _answer(decision: Decision) -> str:
    return f"({decision.name})" if decision.operator >= 0 else decision.name


def interval_text(interval: Interval) -> str:
    low, high = ("infinitely much" if bound is None else str(bound) for bound in interval)
    if low == high:
        return low
    return f"at least {low}" if interval[1] is None else f"{low} to {high}"


def radius_text(radius: Interval) -> str:
    """The radius in words, as in "radius 1" or "radius at least 3"."""
    return "radius infinite" if radius[0] is None else f"radius {interval_text(radius)}"


def fields(kind: type) -> Iterator[tuple[str, str]]:
    """Names and descriptions, for documentation."""
    for option in dataclasses.fields(kind):
        yield option.name, option.metadata["description"]


_ATOMS = frozenset({str, int, float, bool, type(None)})


_FIELDS: dict[type, tuple[str, ...]] = {}


def field_names(kind: type) -> tuple[str, ...]:
    """The names of the fields, in the order in which they are written."""
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(own.name for own in dataclasses.fields(kind))
    return _FIELDS[kind]


def _plain(value: Any) -> Any:
    """As `dataclasses.asdict` with lists for tuples; not copying every number makes it ten times as fast."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is tuple or kind is list:
        if _ATOMS.issuperset(map(type, value)):
            return list(value)
        return [_plain(inner) for inner in value]
    if kind is dict:
        return {key: _plain(inner) for key, inner in value.items()}
    return {name: _plain(getattr(value, name)) for name in field_names(kind)}


__all__ = [
    "KINDS",
    "VERDICTS",
    "WITNESSES",
    "Contradiction",
    "Decision",
    "Effort",
    "Fault",
    "Found",
    "Operators",
    "Opinion",
    "Permitted",
    "Record",
    "Run",
    "Times",
    "Witness",
    "contradiction_text",
    "fault_text",
    "field_names",
    "fields",
    "headline",
    "interval_text",
    "no_bug_text",
    "radius_text",
]
