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

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from misstep.binomial import clopper_pearson
from misstep.experiments.expressions import Condition, Summary, Value
from misstep.experiments.kinds import Json
from misstep.experiments.observations import Gathered, grouped
from misstep.experiments.relations import Relation, relation
from misstep.experiments.store import DONE
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
    unknown: tuple[str, ...] = ()  # groups of which it is not known whether they do


def judge_claim(own: Json, gathered: Gathered) -> Judged:
    measured = _measure(own, gathered)
    verdict, why = _verdict(own, measured)
    if measured.against:
        more = len(measured.against) - _MOST
        why += _begin(own)
        why += "; ".join(measured.against[:_MOST])
        why += f"; and {more} more." if more > 0 else "."
    if measured.unknown:
        why += f" Unknown in {'; '.join(measured.unknown[:_MOST])}"
        more = len(measured.unknown) - _MOST
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
        _ours(own, measured),
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
        everything = grouped(found, own["groups"])
        groups = {key: group for key, group in everything.items() if among is None or among(group)}
        answers = {key: holds(group) for key, group in groups.items()}
        nothing = [] if own["sampled"] else _not_done(own, gathered)
        absent = [key for key in dict.fromkeys(nothing) if key not in everything]
        open_ = [key for key, answer in answers.items() if answer is None]
        unknown = tuple(map(_named, [*open_, *absent]))
        groups = {key: group for key, group in groups.items() if answers[key] is not None}
        true = {key for key in groups if answers[key]}
        share = len(true) / len(groups) if groups else None
        told = own["shown"] or not own["sampled"]
        against = tuple(
            _named(key) + _shown(own, group)
            for key, group in groups.items()
            if told and (key in true) == _asks_for_few(own)
        )
        return _Measured(share, len(groups), (len(true), len(groups)), against, unknown)
    summary = Summary(own["value"])
    value = summary(found)
    number = float(value) if isinstance(value, (int, float)) else None
    share_of = summary.share(found)
    count = len(found) if share_of is None else share_of[1]
    against = (_shown(own, found).strip(" ()"),) if own["shown"] and found else ()
    return _Measured(number, count, share_of, against)


def _not_done(own: Json, gathered: Gathered) -> Iterator[tuple[Value, ...]]:
    """The groups of a claim that units belong to which are not done, as far as rows, tags and seeds tell."""
    where = None if own["where"] is None else Condition(own["where"])
    for unit in gathered.units:
        stored = gathered.results.get(unit.key)
        if unit.step != own["step"] or (stored is not None and stored.outcome == DONE):
            continue
        tags = gathered.definition.tags.get(unit.row, {})
        known: dict[str, Value] = {"row": unit.row, "seed": unit.seed, **tags}
        if known.keys() >= set(own["groups"]) and not (where and where.excludes(known)):
            yield tuple(known[name] for name in own["groups"])


def _named(key: tuple[Value, ...]) -> str:
    return ", ".join(map(shown_number, key))


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
    if measured.share is None:
        decided = wanted.decide(measured.value, measured.value, measured.value)
    else:
        count, total = measured.share
        more = len(measured.unknown)
        # It must be decided alike whatever is true of the groups of which nothing is known.
        each = {_decided(own, count + k, total + more) for k in range(more + 1)}
        decided = each.pop() if len(each) == 1 else None
        if own["sampled"]:
            low = clopper_pearson(count, total + more)[0]
            high = clopper_pearson(count + more, total + more)[1]
            ends = f"[{told_beside(wanted, low)}, {told_beside(wanted, high)}]"
            asked += f" The 95 % interval is {ends}."
    if decided is None:
        return OPEN, f"{asked} It lies on both sides."
    return (AGREES if decided else DISAGREES), asked


def _decided(own: Json, count: int, total: int) -> bool | None:
    """What a share of groups says to a claim."""
    value = count / total
    ends = clopper_pearson(count, total) if own["sampled"] else (value, value)
    return relation(own["agrees"]).decide(value, *ends)


def _ours(own: Json, measured: _Measured) -> str:
    if measured.value is None:
        return "-"
    wanted = relation(own["agrees"])
    if measured.share is None:
        return told_beside(wanted, measured.value)
    count, total = measured.share
    more = f"; {len(measured.unknown)} more unknown" if measured.unknown else ""
    return f"{percent_beside(wanted, measured.value)} % ({count} of {total}{more})"


def told_beside(wanted: Relation, value: float) -> str:
    """A number with so many digits that it satisfies the condition beside it if and only if the value does."""
    texts = [shown_number(value), *(f"{value:.{digits}g}" for digits in range(3, 18))]
    return next(own for own in texts if wanted.holds(float(own)) == wanted.holds(value))


def percent_beside(wanted: Relation, value: float) -> str:
    """The same for a share as a percentage; the last text is the share itself."""
    texts = [f"{100 * value:.{digits}f}" for digits in range(1, 16)]
    same = (own for own in texts if wanted.holds(float(own) / 100) == wanted.holds(value))
    return next(same, f"{100 * value:.17g}")


__all__ = ["AGREES", "DISAGREES", "OPEN", "Judged", "judge_claim"]
