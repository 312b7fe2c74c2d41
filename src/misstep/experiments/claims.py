"""Compare the claims of a paper with our numbers: agrees, disagrees, or not decidable at this scale, and why.

A claim in a definition is a statement of the paper in our words, an expression, and a condition on its value.
A claim about groups (`groups`, `holds`) is about the share of groups for which an expression holds. Where states or
runs are a sample of many more, that share has an exact interval (Clopper and Pearson, 95 %), and the claim is decided
only if all of the interval is on one side. Where the groups are all there is (`sampled = false`), such as the domains
of the paper, the share itself decides.

If a claim does not hold, the report lists the groups for which it does not, with the numbers that the definition names
in `shown`. A sentence written by hand would be wrong after the next run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from misstep.binomial import clopper_pearson
from misstep.experiments.expressions import Condition, Summary, Value
from misstep.experiments.kinds import Json
from misstep.experiments.observations import Gathered, grouped
from misstep.experiments.relations import relation
from misstep.experiments.tables import shown_number

_MOST = 12  # groups that are named
AGREES, DISAGREES, OPEN = "agrees", "disagrees", "not decidable at this scale"


@dataclass(frozen=True)
class Judged:
    """A claim of the paper and our result."""

    name: str
    text: str
    section: str | None
    paper: str | None
    verdict: str
    value: float | None
    ours: str
    why: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class _Measured:
    value: float | None
    count: int  # of observations or groups behind it
    share: tuple[int, int] | None = None  # of how many it is a share
    # The groups that contradict it, or the numbers behind a value.
    against: tuple[str, ...] = ()


def judge_claim(own: Json, gathered: Gathered) -> Judged:
    measured = _measure(own, gathered)
    verdict, why = _verdict(own, measured)
    if measured.against:
        more = len(measured.against) - _MOST
        why += _begin(own)
        why += "; ".join(measured.against[:_MOST])
        why += f"; and {more} more." if more > 0 else "."
    lacking = sorted({row for step, row, _ in gathered.missing() if step == own["step"]})
    if lacking:
        why += f" Not everything was done for {', '.join(lacking)}."
    if own["why"]:
        why += f" {own['why']}"
    return Judged(
        own["name"],
        own["text"],
        own["section"],
        own["paper"],
        verdict,
        measured.value,
        _ours(measured),
        why,
    )


def _measure(own: Json, gathered: Gathered) -> _Measured:
    found = gathered.observations[own["step"]]
    if own["where"] is not None:
        condition = Condition(own["where"])
        found = [one for one in found if condition.holds(one)]
    if own["holds"] is not None:
        among = None if own["among"] is None else Summary(own["among"])
        holds = Summary(own["holds"])
        groups = {
            key: group
            for key, group in grouped(found, own["groups"]).items()
            if among is None or among(group)
        }
        true = {key for key, group in groups.items() if holds(group)}
        share = len(true) / len(groups) if groups else None
        told = own["shown"] or not own["sampled"]
        against = tuple(
            ", ".join(map(shown_number, key)) + _shown(own, group)
            for key, group in groups.items()
            if told and (key in true) == _asks_for_few(own)
        )
        return _Measured(share, len(groups), (len(true), len(groups)), against)
    summary = Summary(own["value"])
    value = summary(found)
    number = float(value) if isinstance(value, (int, float)) else None
    share_of = summary.share(found)
    count = len(found) if share_of is None else share_of[1]
    against = (_shown(own, found).strip(" ()"),) if own["shown"] and found else ()
    return _Measured(number, count, share_of, against)


def _asks_for_few(own: Json) -> bool:
    """Whether the groups that contradict the claim are those for which its condition holds."""
    return own["holds"] is not None and str(own["agrees"]).startswith("<")


def _begin(own: Json) -> str:
    if own["holds"] is None:
        return " In numbers: "
    return " So in " if _asks_for_few(own) else " Not so in "


def _shown(own: Json, group: list[dict[str, Value]]) -> str:
    """The numbers of a group that the definition names, without unknown ones."""
    values = {name: Summary(text)(group) for name, text in own["shown"].items()}
    told = [f"{name} {shown_number(value)}" for name, value in values.items() if value is not None]
    return f" ({', '.join(told)})" if told else ""


def _verdict(own: Json, measured: _Measured) -> tuple[str, str]:
    asked = f"Asked: {own['agrees']}."
    if measured.value is None or measured.count == 0:
        return OPEN, f"Nothing was measured that says anything about it. {asked}"
    if measured.count < own["needs"]:
        return OPEN, f"{measured.count} cases, and {own['needs']:g} are needed. {asked}"
    wanted = relation(own["agrees"])
    low = high = measured.value
    if own["sampled"] and measured.share is not None:
        low, high = clopper_pearson(*measured.share)
        asked += f" The 95 % interval is [{low:.3g}, {high:.3g}]."
    decided = wanted.decide(measured.value, low, high)
    if decided is None:
        return OPEN, f"{asked} It lies on both sides."
    return (AGREES if decided else DISAGREES), asked


def _ours(measured: _Measured) -> str:
    if measured.value is None:
        return "-"
    if measured.share is not None:
        count, total = measured.share
        return f"{100 * measured.value:.1f} % ({count} of {total})"
    return shown_number(measured.value)


__all__ = ["AGREES", "DISAGREES", "OPEN", "Judged", "judge_claim"]
