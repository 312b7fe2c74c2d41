"""Proofs on models: verdicts, limits, policies that contradict themselves, fewer questions."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from misstep import _core
from misstep.checking.certificates import check_file
from misstep.errors import UsageError
from misstep.faults.prove import check_certificate, prove
from misstep.oracles.prove import ReachSettings
from misstep.safety.prove import ProveSettings
from misstep.tasks.jani.load import load_jani
from support import jani
from support.prove import model_of, random_model, table_policy, true_answer
from support.safety import UNSAFE, Explicit, policy_graph, random_world, unit
from support.unsteady import MODEL as UNSTEADY


def line(length: int, end: int) -> Explicit:
    """States 0, 1, ...: label 0 goes on, label 1 stays. `end` is the policy's label at the last state but one."""
    last = length - 1
    actions = [[(0, [s + 1]), (1, [s])] for s in range(last)]
    policy = [0] * (last - 1) + [end, -1]
    return Explicit([0] * last + [UNSAFE], [*actions, []], policy)


@pytest.mark.parametrize("ask", ["all", "needed"])
def test_verdicts_on_small_systems(ask: str) -> None:
    settings = ProveSettings(ask=ask)
    safe = line(6, 1)
    proof = prove(model_of(safe, [0, 2], True), table_policy(safe), settings)
    assert (proof.verdict, proof.exit_code, proof.starts) == ("PROVEN", 0, 2)
    assert proof.checked is not None
    assert proof.checked.valid
    wrong = line(6, 0)
    proof = prove(model_of(wrong, [0], False), table_policy(wrong), settings)
    assert (proof.verdict, proof.exit_code) == ("BUG", 1)
    assert proof.finding is not None
    assert proof.finding.states == [(s,) for s in range(6)]
    assert proof.finding.avoidable
    assert proof.certificate is None


@pytest.mark.parametrize("ask", ["all", "needed"])
def test_a_start_that_no_strategy_keeps_safe_is_no_bug(ask: str) -> None:
    # 0 has one label, into 1, which is unsafe; 2 can stay, and the policy does not.
    world = Explicit([0, UNSAFE, 0], [[(0, [1])], [], [(0, [1]), (1, [2])]], [0, -1, 1])
    proof = prove(model_of(world, [0, 2], True), table_policy(world), ProveSettings(ask=ask))
    assert (proof.verdict, proof.exit_code) == ("NOT A BUG", 1)
    assert (proof.failing, proof.hopeless) == (1, 1)
    assert proof.finding is not None
    assert proof.finding.avoidable is False
    # The first unsafe run begins in the lost start, but the bug is in the other start.
    world.policy[2] = 0
    proof = prove(model_of(world, [0, 2], True), table_policy(world), ProveSettings(ask=ask))
    assert (proof.verdict, proof.failing) == ("BUG", 2)
    assert proof.finding is not None
    assert proof.finding.state == (2,)


def test_a_start_that_is_unsafe_itself() -> None:
    world = Explicit([UNSAFE, 0], [[], [(1, [1])]], [-1, 1])
    proof = prove(model_of(world, [0, 1], True), table_policy(world))
    assert proof.verdict == "NOT A BUG"


def test_fewer_questions_where_they_do_not_matter() -> None:
    # A line that never gets unsafe, and one state at its end where the label matters.
    world = line(50, 1)
    world.flags[-1] = 0
    task = model_of(world, [0], True)
    everything = prove(task, table_policy(world), ProveSettings(ask="all"))
    needed = prove(task, table_policy(world), ProveSettings(ask="needed"))
    assert (everything.asked, needed.asked) == (49, 0)
    assert needed.verdict == "PROVEN"
    assert needed.checked is not None
    assert needed.checked.valid
    assert prove(task, table_policy(world)).method == "needed"
    assert prove(task, "first").method == "all"


def test_proofs_on_small_random_models_are_true() -> None:
    random = Random(3)
    for _ in range(15):
        world, starts = random_model(random)
        task = model_of(world, starts, random.random() < 0.5)
        for ask in ("all", "needed"):
            proof = prove(task, table_policy(world), ProveSettings(ask=ask))
            assert proof.verdict == true_answer(world, starts)


def test_proofs_on_random_explicit_systems_are_true() -> None:
    random = Random(11)
    for _ in range(60):
        world = random_world(random, stops=True)
        starts = random.sample(range(len(world)), 2)
        reached = set(policy_graph(world, starts[0])) | set(policy_graph(world, starts[1]))
        is_safe = not any(world.flags[s] & UNSAFE for s in reached)
        closure = _core.SafetyClosure(world.system())
        closure.add_starts(starts)
        assert closure.explore(False) == "none"
        assert closure.complete
        assert set(closure.certificate()[0].tolist()) == reached
        assert (closure.unsafe == 0) == is_safe
        sparing = _core.SparingProof(world.system(), starts)
        assert sparing.run() == "none"
        assert (sparing.end == "safe") == is_safe
        if not is_safe:
            bad = {
                s for s in starts if any(world.flags[t] & UNSAFE for t in policy_graph(world, s))
            }
            assert set(closure.unsafe_starts()) == bad
            for run in (closure.unsafe_run, sparing.unsafe_run):
                assert run[0] in starts
                assert world.flags[run[-1]] & UNSAFE
                for s, t in pairwise(run):
                    assert t in world.outcomes(s, world.policy[s])


def test_a_proof_that_reaches_a_limit_gives_no_answer() -> None:
    world = line(200, 1)
    task = model_of(world, [0], True)
    for ask in ("all", "needed"):
        proof = prove(task, table_policy(world), ProveSettings(ask=ask, max_states=50))
        assert (proof.verdict, proof.end, proof.exit_code) == ("UNKNOWN", "states", 22)
        assert 50 <= proof.states < 200
        proof = prove(task, table_policy(world), ProveSettings(ask=ask, memory_limit_mb=1))
        assert proof.verdict == "PROVEN"
    proof = prove(task, "first", ProveSettings(time_limit=1e-9))
    assert (proof.verdict, proof.end, proof.exit_code) == ("UNKNOWN", "time", 20)


def test_exploring_stops_at_the_memory_limit() -> None:
    system = unit("U1").system()
    closure = _core.SafetyClosure(system)
    closure.add_starts([0])
    assert closure.explore(True, bytes=1) == "memory"
    assert not closure.complete


def test_a_crash_of_the_policy_gives_no_answer() -> None:
    world = line(5, 1)

    def act(state: Any) -> str:
        if state["s"] == 2:
            raise ValueError("no idea")
        return "a"

    proof = prove(model_of(world, [0], True), act)
    assert (proof.verdict, proof.end, proof.exit_code) == ("UNKNOWN", "crash", 11)
    assert "no idea" in proof.reason


def test_ctrl_c_keeps_what_was_found() -> None:
    world = line(5, 1)

    def act(state: Any) -> str:
        if state["s"] == 2:
            raise KeyboardInterrupt
        return "a"

    proof = prove(model_of(world, [0], True), act)
    assert (proof.verdict, proof.end, proof.exit_code) == ("UNKNOWN", "interrupted", 23)
    assert proof.asked == 2


def free_world() -> Explicit:
    """Four labels in each of 40 states, and nothing that is unsafe: every policy would be proven."""
    random = Random(5)
    actions = [[(label, [random.randrange(40)]) for label in range(4)] for _ in range(40)]
    return Explicit([0] * 40, actions, [0] * 40)


@pytest.mark.parametrize("name", ["Random", "Place", "Hashes", "Liar", "Declared"])
def test_unsteady_policies_prove_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text(UNSTEADY)
    task = model_of(free_world(), [0, 1, 2], True)
    spec = f"python:{tmp_path}/agents.py:{name}"
    proof = prove(task, spec, ProveSettings(ask="all"))
    assert (proof.verdict, proof.exit_code) == ("FLAKY", 13), proof
    assert proof.certificate is None


def test_a_steady_policy_is_proven(tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text(UNSTEADY)
    task = model_of(free_world(), [0, 1, 2], True)
    spec = f"python:{tmp_path}/agents.py:Steady"
    proof = prove(task, spec, ProveSettings(ask="all"))
    assert proof.verdict == "PROVEN", proof.reason
    assert proof.asked_again > 0
    assert proof.certificate is not None
    assert check_certificate(proof.certificate, task, spec).valid
    other = check_certificate(proof.certificate, task, "first")
    assert "its digest differs" in other.reason


def test_decisions_are_compared_with_the_policy() -> None:
    world = line(6, 1)
    task = model_of(world, [0], True)
    act = table_policy(world)
    proof = prove(task, act, ProveSettings(ask="all"))
    assert proof.certificate is not None
    assert check_certificate(proof.certificate, task, act).valid
    world.policy[3] = (
        1  # the digest covers what the function uses; the table is changed behind its back
    )
    report = check_certificate(proof.certificate, task, act)
    assert not report.valid
    assert "decides otherwise" in report.reason or "digest differs" in report.reason


def test_wrong_arguments_are_refused() -> None:
    task = model_of(line(3, 1), [0], True)
    with pytest.raises(UsageError, match="ask is 'never'"):
        ProveSettings(ask="never")
    with pytest.raises(UsageError, match="for planning tasks"):
        prove(task, "first", ReachSettings())


def wide_model() -> Any:
    """Two automata with locations, an array, a Boolean and a transient variable: every type of variable."""
    flip = jani.op("¬", "flag")
    edges = [
        jani.edge(
            "a",
            jani.op("<", {"op": "aa", "exp": "cells", "index": 0}, 3),
            jani.destination(
                [
                    {
                        "ref": {"op": "aa", "exp": "cells", "index": 0},
                        "value": jani.op("+", {"op": "aa", "exp": "cells", "index": 0}, 1),
                    },
                    {"ref": "flag", "value": flip},
                ],
                location="there",
            ),
            location="here",
        ),
        jani.edge("b", True, jani.destination({"flag": flip}, location="here"), location="there"),
    ]
    return jani.model(
        [
            jani.variable("flag", "bool"),
            jani.variable("seen", "bool", False, transient=True),
        ],
        [
            jani.automaton(
                "one",
                edges,
                ("here", "there"),
                variables=[
                    jani.variable(
                        "cells",
                        {"kind": "array", "base": jani.bounded(-2, 5)},
                        {"op": "av", "elements": [-1, 2]},
                    )
                ],
            )
        ],
        prop=jani.pa(jani.op("=", {"op": "aa", "exp": "cells", "index": 1}, 5)),
        features=["arrays"],
    )


@pytest.mark.parametrize("ask", ["all", "needed"])
def test_states_with_every_type_of_variable_are_proven(ask: str) -> None:
    proof = prove(jani.task(wide_model()), "first", ProveSettings(ask=ask))
    assert proof.verdict == "PROVEN", proof.reason
    assert proof.starts == 2
    assert proof.checked is not None
    assert proof.checked.valid, proof.checked.reason


def test_a_property_in_the_user_s_words(tmp_path: Path) -> None:
    path = jani.write(wide_model(), folder=tmp_path)
    proof = prove(load_jani(path, unsafe="flag and not flag", start="flag"), "first")
    assert proof.verdict == "PROVEN"
    assert proof.checked is not None
    assert proof.checked.valid, proof.checked.reason
    assert proof.certificate is not None
    (tmp_path / "safe.proof").write_bytes(proof.certificate)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    path.rename(moved / "other.jani")
    assert check_file(tmp_path / "safe.proof", moved / "other.jani").valid
