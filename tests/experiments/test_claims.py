"""What is said about a claim is true of the numbers, also where some are missing or are rounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from misstep.experiments.claims import AGREES, DISAGREES, OPEN, Judged, judge_claim
from misstep.experiments.definition import Unit
from misstep.experiments.expressions import Summary
from misstep.experiments.figures import _by_pair, make_figures
from misstep.experiments.observations import Gathered
from misstep.experiments.store import DONE, Stored
from misstep.experiments.tables import Number, shown_number
from misstep.reports.figures.shapes import Text


def judged(
    rows: list[dict[str, Any]],
    units: Sequence[Unit] = (),
    results: Mapping[str, Stored] = MappingProxyType({}),
    definition: Any = None,
    **own: Any,
) -> Judged:
    claim: dict[str, Any] = {"name": "c", "text": "", "section": None, "paper": None, "step": "s"}
    claim |= {"where": None, "among": None, "groups": ["row"], "holds": None, "value": None}
    claim |= {"shown": {}, "sampled": False, "needs": 0, "why": "", **own}
    gathered = Gathered(definition, "small", 1, tuple(units), results, {"s": rows})
    return judge_claim(claim, gathered)


def rows(*pairs: tuple[float | None, float | None]) -> list[dict[str, Any]]:
    return [{"row": f"r{i}", "a": a, "b": b} for i, (a, b) in enumerate(pairs)]


def test_two_missing_figures_say_nothing() -> None:
    found = judged(rows((None, None)), holds="sum(a) == sum(b)", agrees="== 1")
    assert found.verdict == OPEN


@pytest.mark.parametrize(
    ("agrees", "pairs", "verdict"),
    [
        (">= 0.5", [(1, 1), (1, 1), (1, None)], AGREES),
        (">= 0.9", [(1, 1), (1, 1), (1, None)], OPEN),
        ("<= 0.5", [(1, 2), (1, 2), (1, None)], AGREES),
        ("<= 0.1", [(1, 2), (1, 2), (1, None)], OPEN),
        ("== 1", [(1, 1), (1, 1), (1, None)], OPEN),
        ("== 1", [(1, 1), (1, 2), (1, None)], DISAGREES),
        ("== 0", [(1, 2), (1, 2), (1, None)], OPEN),
        ("between 0.3 and 0.4", [(1, 1), (1, 2), (1, None)], OPEN),
    ],
)
def test_groups_of_which_nothing_is_known_decide_nothing(
    agrees: str, pairs: list[tuple[float | None, float | None]], verdict: str
) -> None:
    found = judged(rows(*pairs), holds="sum(a) == sum(b)", agrees=agrees)
    assert found.verdict == verdict
    assert "1 more unknown" in found.ours
    assert "Unknown in r2." in found.why
    assert "r2" not in found.why.split("Unknown")[0]


@pytest.mark.parametrize(
    ("where", "agrees", "verdict", "more"),
    [
        (None, ">= 0.6", OPEN, 2),
        (None, ">= 0.1", AGREES, 2),
        (None, "== 1", DISAGREES, 2),
        ("flag and family == 'A'", ">= 0.6", OPEN, 1),
        ("flag and family == 'B' and row != 'r3'", ">= 0.6", DISAGREES, 0),
    ],
)
def test_groups_that_are_not_done_decide_nothing(
    where: str | None, agrees: str, verdict: str, more: int
) -> None:
    family = {"r0": "A", "r1": "B", "r2": "A", "r3": "B"}
    found = [
        {"row": row, "family": family[row], "flag": True, "a": a}
        for row, a in (("r0", 1), ("r1", 0))
    ]
    units = [Unit(row, "s", "k", row, 0, "", {}, 0.0) for row in family]
    done = {row: Stored(DONE, {}, 0.0, "") for row in ("r0", "r1")}
    definition = SimpleNamespace(tags={row: {"family": own} for row, own in family.items()})
    own = judged(found, units, done, definition, where=where, holds="sum(a) > 0", agrees=agrees)
    assert own.verdict == verdict
    assert (f"{more} more unknown" in own.ours) == (more > 0)
    assert ("Unknown in r2" in own.why) == (more > 0)


@pytest.mark.parametrize(
    ("value", "agrees", "told"),
    [
        (0.89996, ">= 0.9", "0.89996"),
        (0.90004, "> 0.9", "0.90004"),
        (0.8, ">= 0.9", "0.8"),
        (0.1 + 0.2, "== 0.3", "0.30000000000000004"),
        (999.96, "< 1000", "999.96"),
        (1000.4, "> 1000", "1000.4"),
    ],
)
def test_a_rounded_number_does_not_contradict_what_is_said(
    value: float, agrees: str, told: str
) -> None:
    found = judged([{"row": "r", "a": value}], value="mean(a)", agrees=agrees)
    assert found.ours == told


def test_a_rounded_percentage_does_not_contradict_what_is_said() -> None:
    many = [{"row": f"r{i}", "a": int(i > 0)} for i in range(2500)]
    found = judged(many, holds="sum(a) > 0", agrees=">= 1")
    assert (found.verdict, found.ours) == (DISAGREES, "99.96 % (2499 of 2500)")


@pytest.mark.parametrize(
    ("value", "text"),
    [(99.96, "99.96"), (0.9996, "0.9996"), (100.0, "100"), (0.0, "0"), (1 - 1e-12, "1")],
)
def test_not_all_is_not_shown_as_all(value: float, text: str) -> None:
    assert shown_number(value) == text


def test_a_mean_tells_for_how_many_seeds_it_is_known() -> None:
    assert str(Number(2.0, None, (1, 3))) == "2 (1 of 3 seeds)"


def test_a_figure_shows_no_0_for_what_was_not_measured() -> None:
    given = [("a", "x", 3.0), ("b", "x", None), ("a", "y", 2.0), ("b", "y", 0.0)]
    found: list[dict[str, Any]] = [
        {"row": row, "arm": arm, "t": t, "seed": 0} for row, arm, t in given
    ]
    gathered = Gathered(None, "small", 1, (), {}, {"s": found})  # type: ignore[arg-type]
    own: dict[str, Any] = {"name": "f", "title": "F", "step": "s", "where": None, "panels": None}
    own |= {"series": ["arm"], "value_title": None, "reached_title": None}
    ((_, bars),) = make_figures(
        {**own, "type": "bars", "bins": "row", "value": "mean(t)"}, gathered
    )
    texts = [shape.text for shape in bars.shapes if isinstance(shape, Text) and shape.size == 8.0]
    assert texts == ["3", "2", "-", "0"]
    scatter = {**own, "type": "scatter", "value": "mean(t)", "against": "x", "by": ["row"]}
    base = _by_pair(["row"], found[:2], Summary("mean(t)"))
    assert base == {("a",): 3.0}
    assert list(make_figures(scatter, gathered))
