"""Shields: what they guarantee, and how they are stored."""

from __future__ import annotations

import json
import math
from random import Random
from typing import Any

import pytest

from misstep._core import CounterRandom
from misstep.errors import InputFormatError, UsageError
from misstep.safety import (
    Answer,
    Blacklist,
    Budget,
    Decider,
    FuzzSettings,
    OracleShield,
    ShieldTable,
    System,
    analyse_all,
    envelope,
    fuzz,
    harden,
    judge,
    repair,
)
from support.safety import KINDS, UNSAFE, Explicit, is_safe, lift, random_world, unit


def random_steps(system: System[int, int], start: int, steps: int, seed: int) -> list[int]:
    random = CounterRandom(seed)
    states = [start]
    while len(states) <= steps:
        outcomes = system.native.policy_outcomes(states[-1])
        if not outcomes:
            break
        states.append(outcomes[random.below(len(outcomes))])
    return states


@pytest.mark.parametrize("kind", KINDS)
def test_oracle_shield_keeps_safe_states_safe(kind: str) -> None:
    starts = 0
    for seed in range(60):
        world = random_world(Random(seed), stops=seed % 3 == 0)
        safe = is_safe(world, None)
        shield = OracleShield(Decider(lift(world), kind))
        for s in range(len(world)):
            if not safe[s]:
                continue
            starts += 1
            assert envelope(shield.system, [s]).answer is Answer.SAFE
            assert all(safe[t] for t in random_steps(shield.system, s, 50, seed))
        assert shield.unguarded == 0 or seed % 3 == 0
    assert starts > 200


class Watched:
    """Remembers the states that a table is made of."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.looked_at: set[int] = set()

    def allowed(self, id: int) -> list[int]:
        self.looked_at.add(id)
        return list(self.inner.allowed(id))


def test_a_complete_table_covers_its_own_runs() -> None:
    """Also where evaluations are so few that the decider knows more each time it is asked."""
    for seed in range(300):
        system = lift(random_world(Random(seed)))
        shield: Any = OracleShield(Decider(system, budget=Budget(evaluations=2, seconds=None)))
        shield.native = watched = Watched(shield.native)
        table = shield.table([0])
        assert table.is_complete
        by_table = table.shield(system).native
        reached, open_states = {0}, [0]
        while open_states:
            fresh = set(by_table.policy_outcomes(open_states.pop())) - reached
            reached |= fresh
            open_states += fresh
        assert reached <= watched.looked_at


def test_long_shielded_run() -> None:
    """Ten thousand steps on a ring where each state has a label that leads to an unsafe state."""
    n = 50
    actions: list[list[tuple[int, list[int]]]] = [
        [(0, [(s + 1) % n, n]), (1, [(s + 1) % n, (s + 2) % n])] for s in range(n)
    ]
    world = Explicit([0] * n + [UNSAFE], [*actions, []], [0] * (n + 1))
    shield = OracleShield(Decider(lift(world)))
    states = random_steps(shield.system, 0, 10_000, 1)
    assert len(states) == 10_001
    assert n not in states
    assert shield.corrected == n


def test_oracle_shield_lets_the_policy_have_its_way_where_nothing_is_safe() -> None:
    shield = OracleShield(Decider(lift(unit("U15"))))
    assert shield.system.native.decision(1) == 0
    assert shield.unguarded == 1
    # Without a budget nothing is decided, so the first label is not replaced.
    blind = OracleShield(Decider(lift(unit("U4"))), Budget(evaluations=0))
    assert blind.system.native.decision(0) == 0
    assert blind.unguarded == 1


def test_table_of_an_oracle_shield() -> None:
    world = unit("U14")
    shield = OracleShield(Decider(lift(world)))
    table = shield.table([0])
    assert table == ShieldTable({0: (1,)}, True)
    again: ShieldTable[int, int] = ShieldTable.from_json(table.to_json())
    assert again == table
    assert envelope(again.shield(lift(world)), [0]).answer is Answer.SAFE
    ring = Explicit([0] * 5, [[(0, [(s + 1) % 5])] for s in range(5)], [0] * 5)
    cut = OracleShield(Decider(lift(ring))).table([0], max_states=2)
    assert (len(cut.allowed), cut.is_complete) == (2, False)


def test_tables_are_as_good_as_the_oracle() -> None:
    for seed in range(60):
        world = random_world(Random(seed))
        safe = [s for s, is_good in enumerate(is_safe(world, None)) if is_good]
        table = OracleShield(Decider(lift(world))).table(safe)
        assert table.is_complete
        if safe:
            assert envelope(table.shield(lift(world)), safe).answer is Answer.SAFE
        for state, labels in table.allowed.items():
            good = [a for a, t in world.actions[state] if all(x in safe for x in t)]
            assert sorted(labels) == sorted(good)


def test_a_blacklist_shield_avoids_the_forbidden_labels() -> None:
    world = unit("U4")
    system = lift(world)
    report = fuzz(system, FuzzSettings(runs=1))
    faults = analyse_all(Decider(system), report.runs).faults
    blacklist = Blacklist.of(faults)
    assert blacklist.forbidden == {0: (0,)}
    assert Blacklist.from_json(blacklist.to_json()) == blacklist
    shielded = blacklist.shield(system)
    assert shielded.native.decision(0) == 1
    assert shielded.native.decision(1) == 0  # nobody has found that one yet


def test_hardening_goes_on_until_nothing_is_found() -> None:
    system = lift(unit("U4"))
    result = harden(Decider(system), FuzzSettings(runs=5))
    assert result.blacklist.forbidden == {0: (0,), 1: (0,)}
    assert result.unsafe_runs == (1, 1, 0)
    assert envelope(result.system, [0]).answer is Answer.SAFE
    cut = harden(Decider(system), FuzzSettings(runs=5), rounds=1)
    assert cut.unsafe_runs == (1,)


def test_hardening_random_systems() -> None:
    """On small systems, hardening ends with a policy for which the fuzzer finds no unsafe run."""
    for seed in range(60):
        world = random_world(Random(seed))
        if not is_safe(world, None)[0] or world.is_terminal(0):
            continue
        result = harden(Decider(lift(world)), FuzzSettings(runs=20), seed=seed, rounds=100)
        assert result.unsafe_runs[-1] == 0


def test_a_strategy_repairs_the_policy() -> None:
    for seed in range(60):
        world = random_world(Random(seed))
        system = lift(world)
        decider = Decider(system)
        for s in range(len(world)):
            for radius in (1, math.inf):
                verdict = judge(decider, s, radius)
                if verdict.strategy is not None:
                    fixed = repair(system, verdict.strategy)
                    assert envelope(fixed, [s]).answer is Answer.SAFE


def test_json_of_others_is_refused() -> None:
    blacklist = Blacklist({("a", 1): ("go",)})
    text = blacklist.to_json()
    assert json.loads(text)["kind"] == "blacklist"
    assert Blacklist.from_json(text) == blacklist
    for wrong in (
        "{",
        "[]",
        "{}",
        text.replace("blacklist", "oracle"),
        text.replace("go", "")[:-9],
    ):
        with pytest.raises(InputFormatError, match="cannot read the shield"):
            Blacklist.from_json(wrong)
    with pytest.raises(InputFormatError):
        ShieldTable.from_json(text)
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        Blacklist({object(): ("go",)}).to_json()


def test_a_shield_needs_a_policy() -> None:
    system = System(unit("U4").transitions())
    with pytest.raises(UsageError, match="no policy"):
        OracleShield(Decider(system))
    with pytest.raises(UsageError, match="no policy"):
        Blacklist[int, int]({}).shield(system)


def test_a_table_that_does_not_say_whether_it_is_complete_is_refused() -> None:
    text = json.dumps({"format": "misstep-shield", "version": 1, "kind": "oracle", "states": []})
    with pytest.raises(InputFormatError, match="it has no 'complete'"):
        ShieldTable.from_json(text)
    with pytest.raises(UsageError, match="no label is allowed in 0"):
        ShieldTable[int, int]({0: ()}, True)
