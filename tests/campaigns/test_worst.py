"""Which bug is the worst, and what is said about it."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

import misstep
from misstep.campaigns.records import Record, Run
from misstep.campaigns.rows import KINDS
from misstep.campaigns.worst import sentence, severity, severity_of
from support.records import record


def bug(number: int, kind: str, **given: Any) -> Record:
    return record(number, verdict="BUG", kind=kind, **given)


# From the worst to the least.
ORDER = [
    bug(5, "fails", gap=(None, None), bounds=(2, 3)),
    bug(1, "fails", gap=(None, None), bounds=(2, 7)),
    bug(2, "fails-some", bounds=(1, 1)),
    bug(9, "crash"),
    bug(4, "costly", gap=(6, 6)),
    bug(7, "costly-best", gap=(5, None)),
    bug(6, "costly", gap=(5, 9)),
    bug(8, "costly", gap=(5, 5)),
    bug(3, "unclassified", gap=(50, 60)),
]


@pytest.mark.parametrize("first", range(len(ORDER) - 1))
def test_the_order_of_bugs(first: int) -> None:
    rest = ORDER[first:]
    assert min(rest, key=severity_of) is rest[0]
    assert min(rest[::-1], key=severity_of) is rest[0]


def test_the_worst_unsafe_bug_is_the_easiest_to_avoid() -> None:
    radii = [(1, 1), (1, 3), (2, 2), (2, None)]
    for order in permutations(radii):
        bugs = [bug(k, "unsafe", radius=own, world="model") for k, own in enumerate(order)]
        assert min(bugs, key=severity_of).radius == (1, 1)


def test_every_kind_has_a_place() -> None:
    assert all(severity(kind, 1, 2, 3) for kind in KINDS)
    assert severity("fails", 1, 2, 3) < severity("costly", 100, 100, 3)


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (bug(0, "costly", cost=9, bounds=(4, 5)), "the policy spends 9, where 5 is enough"),
        (
            bug(0, "fails", outcome="loop", bounds=(4, 5)),
            "the policy runs in a loop after 0 steps, where a plan of cost 5 reaches the goal",
        ),
        (
            bug(0, "costly", cost=9, bounds=(4, 5), family="move instead of pick"),
            "the policy spends 9, where 5 is enough (move instead of pick)",
        ),
        (
            bug(
                0, "unclassified", run=Run("cut", (1, 2), ("a", "b"), 8, None, None), bounds=(4, 5)
            ),
            "the policy has spent 8 after 2 steps without reaching the goal, where 5 is enough",
        ),
        (
            bug(0, "crash", run=Run("error", (1,), ("a",), 1, None, "no")),
            "the policy crashes after 1 step",
        ),
        (
            bug(0, "unsafe", radius=(1, 1)),
            "the policy gets into an unsafe state after 0 steps, which 1 deviation avoids",
        ),
        (
            bug(0, "unsafe", radius=(2, 4)),
            "the policy gets into an unsafe state after 0 steps, which 2 to 4 deviations avoid",
        ),
    ],
)
def test_the_sentence_about_each_kind_of_bug(own: Record, said: str) -> None:
    assert sentence(own) == said


def test_the_summary_names_the_same_bug() -> None:
    """It is read from the tables, without constructing all records."""
    tasks = [
        misstep.load_task(misstep.generate("gripper", balls=3, scatter=50, seed=seed))
        for seed in (1, 2)
    ]
    for number, task in enumerate(tasks):
        task.name = f"g{number}"
    for policy in ("heuristic:ff", "first", "optimal"):
        found = misstep.test(tasks, policy, pool=15)
        worst = min(found.bugs, key=severity_of, default=None)
        if worst is None:
            assert found.summary.worst is None
            assert policy == "optimal"
        else:
            assert found.summary.worst == {"id": worst.id, "sentence": sentence(worst)}
