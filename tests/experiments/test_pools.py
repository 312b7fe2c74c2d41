"""Pools, oracles and rounds of P22: every number agrees with a count that is made in another way."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns.records import Record
from misstep.campaigns.testing import test as campaign
from misstep.errors import UsageError
from misstep.experiments.claims import AGREES, DISAGREES, OPEN
from misstep.experiments.definition import load_definition
from misstep.experiments.expressions import Value
from misstep.experiments.figures import make_figures
from misstep.experiments.kinds import MISSING, Json, pools, rounds, switches, tasks
from misstep.experiments.observations import Gathered
from misstep.experiments.report import write_report
from misstep.experiments.store import DONE, begin
from misstep.runs.single import run as run_policy
from misstep.tasks.census import small_task
from misstep.tasks.task import State, Task
from support.experiments import without_times

NOISY = "noisy:0.2:4+optimal"
GRIPPER = {"domain": "gripper", "sizes": {"balls": 3}, "seed": 0}
MATCHING = {"domain": "matching-blocksworld", "sizes": {"blocks": 4}, "seed": 0}
FUZZING = {
    "pool": 15,
    "walk_length": 5,
    "novelty": 2,
    "patience": 100,
    "fuzz_seconds": None,
    "oracle_seconds": None,
}


def unit(task: Json, policy: str, **changes: Any) -> Json:
    oracles = {
        "perfect": "perfect",
        "lookahead": "lookahead(1)",
        "aras": "aras(100)",
        "truth": "exact",
        "undo": "undo",
    }
    return {
        "task": task,
        "policies": [policy],
        "variant": "both",
        "seed": 0,
        **FUZZING,
        "oracles": oracles,
        "fails": ["perfect", "undo", "lookahead"],
        "costly": ["undo", "lookahead", "aras"],
        "shared": ["undo"],
        **changes,
    }


def pool_of(payload: Json) -> tuple[Task, list[Record]]:
    """The same pool, made by a campaign of our own."""
    task = tasks.open_task(payload["task"])
    options = {**switches.options(payload), "pool": payload["pool"]}
    with campaign(task, payload["policies"][0], oracle="exact", **options) as own:
        return task, own.records


def truth(task: Task, policy: str, records: list[Record]) -> tuple[set[int], set[int]]:
    """Failing states that have a plan, and costly ones, by the census and a run of the policy from each."""
    space = small_task(task)
    assert space is not None
    fails, costly = set(), set()
    for own in records:
        state = State(list(map(int, own.state)))
        best = space.distance(state)
        assert best is not None
        run = run_policy(policy, task, state=state)
        if run.outcome == "goal":
            if run.cost > best:
                costly.add(own.number)
        elif best < float("inf"):
            fails.add(own.number)
    return fails, costly


CASES = [(GRIPPER, NOISY), (MATCHING, "noisy:0.2:2+optimal")]


@pytest.mark.parametrize("variant", ["both", "no bias", "no novelty", "neither"])
@pytest.mark.parametrize(("task", "policy"), CASES)
def test_counts_are_those_of_the_census(task: Json, policy: str, variant: str) -> None:
    payload = unit(task, policy, variant=variant)
    result = pools.run(payload)
    opened, records = pool_of(payload)
    fails, costly = truth(opened, policy, records)
    found = result["oracles"]
    assert result["solves_start"]
    assert result["pool"] == len(records)
    assert result["solved"] == sum(own.run.outcome == "goal" for own in records)
    assert set(found["truth"]["fails"]) == fails
    assert set(found["truth"]["costly"]) == costly
    for name, own in found.items():
        assert set(own["fails"]) <= fails, name
        assert set(own["costly"]) <= costly, name
        assert own["processed"] == len(records)
    # Perfect about failing states: by a decider of its own, or since everything can be undone.
    assert set(found["perfect"]["fails"]) == fails
    assert found["best of"]["fails"] == found["perfect"]["fails"]
    union = {n for name in ("undo", "lookahead", "aras") for n in found[name]["costly"]}
    assert set(found["best of"]["costly"]) == union


def test_the_cases_have_bugs_of_both_kinds() -> None:
    found = [pools.run(unit(*case))["oracles"]["truth"] for case in CASES]
    assert any(own["fails"] for own in found)
    assert any(own["costly"] for own in found)


@pytest.mark.parametrize(("task", "policy"), CASES)
def test_unique_pairs_and_regions_by_hand(task: Json, policy: str) -> None:
    payload = unit(task, policy)
    found = pools.run(payload)["oracles"]["truth"]
    opened, records = pool_of(payload)
    states = {own.number: own.state for own in records}
    for objective in ("fails", "costly"):
        bugs = found[objective]
        unique = 0
        for number in bugs:
            own = set(combinations(enumerate(states[number]), 2))
            others = [set(combinations(enumerate(s), 2)) for n, s in states.items() if n != number]
            unique += bool(own.difference(*others))
        share = unique / len(bugs) if bugs else None
        assert found[f"unique_{objective}"] == share
        assert found[f"regions_{objective}"] == _regions(opened, [states[n] for n in bugs])


def _regions(task: Task, states: list[Any]) -> int:
    def follows(a: Any, b: Any) -> bool:
        state = State(list(a))
        return any(tuple(task.apply(state, op).values) == b for op in task.applicable(state))

    left, count = set(states), 0
    while left:
        waiting = [left.pop()]
        count += 1
        while waiting:
            state = waiting.pop()
            near = {other for other in left if follows(state, other) or follows(other, state)}
            left -= near
            waiting += near
    return count


def test_oracles_know_nothing_of_each_other_and_but_for_undo_of_other_states() -> None:
    payload = unit(GRIPPER, NOISY)
    together = pools.run(payload)["oracles"]
    assert without_times(together) == without_times(pools.run(payload)["oracles"])
    for name in ("lookahead", "aras", "undo"):
        alone = pools.run({**payload, "oracles": {name: payload["oracles"][name]}})
        assert alone["oracles"][name] == together[name]
    task, records = pool_of(payload)
    for record in records[::4]:
        own = campaign(
            task, NOISY, oracle="lookahead(1)", isolate=True,
            **{**switches.options(payload), "pool": record.number + 1},
        )  # fmt: skip
        with own:
            last = own.records[-1].verdicts[0]
        is_found = record.number in {*together["lookahead"]["fails"], *together["lookahead"]["costly"]}  # fmt: skip
        assert last.is_bug == is_found


def test_a_task_that_the_policy_does_not_solve_is_counted_and_left_alone() -> None:
    payload = unit(GRIPPER, "first")
    result = pools.run(payload)
    assert result == {"policy": "first", "task": "gripper, balls 3, task 0", "solves_start": False}
    (seen,) = pools.observations(payload, result)
    assert (seen["solves_start"], seen["oracle"], seen.get("pool")) == (False, "best of", None)
    assert rounds.run({**payload, "round": 1, "oracle": "undo", "objective": "fails"})["states"] == []  # fmt: skip


def test_recall_is_over_what_the_paper_says() -> None:
    own = {
        "processed": 20,
        "fails": [1, 2, 3],
        "costly": [4],
        "unique_fails": 1 / 3,
        "unique_costly": 1.0,
        "regions_fails": 2,
        "regions_costly": 1,
    }
    about = {"policy": "shipped:gripper", "task": "t", "solves_start": True}
    result = {**about, "pool": 20, "solved": 8, "oracles": {"undo": own}}
    (seen,) = pools.observations({"variant": "both"}, result)
    assert seen["recall_fails"] == 3 / 12
    assert seen["recall_fails_of_pool"] == 3 / 20
    assert seen["recall_costly"] == 1 / 8
    assert (seen["fails"], seen["costly"], seen["learned"]) == (3, 1, True)
    assert set(seen) <= {"row", "seed", *pools.COLUMNS}
    result["solved"] = 20
    (seen,) = pools.observations({"variant": "both"}, result)
    assert seen["recall_fails"] is None  # nothing to find is no bad score


def test_names_of_oracles_are_checked() -> None:
    step = {"name": "s", "oracles": {"undo": "undo"}, "fails": ["undo"], "costly": ["udno"], "shared": []}  # fmt: skip
    with pytest.raises(UsageError, match="no oracle 'udno'"):
        list(pools.units(step, {"subject": {MISSING: "nothing"}}, 0))


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize(("objective", "oracle"), [("fails", "undo"), ("costly", "lookahead(1)")])
def test_rounds_find_what_the_whole_pool_at_once_does(
    objective: str, oracle: str, width: int
) -> None:
    payload = {**unit(GRIPPER, NOISY), "round": width, "oracle": oracle, "objective": objective}
    result = rounds.run(payload)
    found = result["states"]
    whole = pools.run({**payload, "oracles": {"own": oracle}, "shared": []})["oracles"]["own"]
    assert [number for number, _, bug, _ in found if bug] == whole[objective]
    assert [number for number, *_ in found] == list(range(payload["pool"]))
    times = [at for *_, at in found]
    assert times == sorted(times)  # each state is judged after those before it, fuzzing in between
    assert times[0] > 0
    for own in rounds.observations(payload, result):
        assert set(own) <= set(rounds.COLUMNS)
        assert own["bug"] == (own["state"] in whole[objective])


def test_numbers_over_time_are_means_over_seeds() -> None:
    own = load_definition("p22")
    figure = next(f for f in own.top["figures"] if f["name"] == "figure-4-fails")
    seen: list[dict[str, Value]] = [
        {"row": "Blocksworld", "seed": seed, "objective": "fails", "variant": variant, "at": at, "bug": bug}
        for seed, variant, at, bug in [
            (0, "both", 1.0, True), (0, "both", 2.0, True), (1, "both", 3.0, True), (1, "both", 4.0, False),
            (0, "no bias", 1.0, True),
        ]
    ]  # fmt: skip
    gathered = Gathered(own, "smoke", 2, (), {}, {"debugging": seen})
    ((name, page),) = make_figures(figure, gathered)
    assert name == "figure-4-fails-blocksworld"
    assert "both: 1.5" in page.description
    assert "no bias: 1 " in f"{page.description} "


# -- claims, either way ---------------------------------------------------------------------------


def made_up(
    folder: Path, counts: dict[tuple[str, str], tuple[int, int]], as_told: bool = False
) -> dict[str, str]:
    """Verdicts where each pool of 20 states, half of them solved, has so many failing and costly bugs, by variant
    and oracle; "" is any. As it is told, all states of Gripper are solved, Spanner has no bugs, and more is solved
    without the bias."""
    own = load_definition("p22")
    units = own.units("smoke", 1)
    with begin(folder, own.name, "smoke") as store:
        store.update(own, units, "smoke", 1)
        for one in units:
            if one.step != "pools":
                continue
            oracles = {}
            for name in ("perfect", "undo", "lookahead", "aras", "best of"):
                variant = one.payload["variant"]
                fails, costly = counts.get((variant, name), counts.get((variant, ""), (0, 0)))
                if as_told and one.row in ("Gripper", "Spanner"):
                    fails, costly = 0, costly if one.row == "Gripper" else 0
                oracles[name] = {
                    "processed": 20,
                    "fails": list(range(fails)),
                    "costly": list(range(costly)),
                    "unique_fails": fails / 20,
                    "unique_costly": costly / 20,
                    "regions_fails": fails,
                    "regions_costly": costly,
                }
            about = {"policy": "made-up", "task": one.label, "solves_start": True}
            solved = 20 if as_told and one.row == "Gripper" else 10
            if one.payload["variant"] == "no bias" and solved < 20:
                solved += 5 if as_told else -5
            found = {**about, "pool": 20, "solved": solved, "oracles": oracles}
            store.put(one.key, DONE, found, 1.0)
    return {claim.name: claim.verdict for claim in write_report(folder).claims}


def test_claims_come_out_either_way(tmp_path: Path) -> None:
    as_told = {
        ("both", "best of"): (10, 8), ("no bias", "best of"): (2, 4), ("no novelty", "best of"): (9, 8),
        ("both", "perfect"): (10, 0), ("both", "undo"): (10, 1), ("both", "lookahead"): (9, 4),
        ("both", "aras"): (0, 6),
    }  # fmt: skip
    verdicts = made_up(tmp_path / "a", as_told, as_told=True)
    assert verdicts.pop("bias-starts-later") == verdicts.pop("bias-ends-higher") == OPEN
    assert verdicts.pop("aras-often-best") == DISAGREES  # in all domains, which is more than told
    assert set(verdicts.values()) == {AGREES}, verdicts
    against = {
        ("both", "best of"): (2, 4), ("no bias", "best of"): (8, 8), ("no novelty", "best of"): (9, 9),
        ("both", "perfect"): (2, 0), ("both", "undo"): (2, 4), ("both", "lookahead"): (2, 4),
        ("both", "aras"): (0, 3),
    }  # fmt: skip
    verdicts = made_up(tmp_path / "b", against)
    assert verdicts.pop("bias-starts-later") == verdicts.pop("bias-ends-higher") == OPEN
    assert verdicts.pop("lookahead-close") == AGREES  # it misses nothing
    assert set(verdicts.values()) == {DISAGREES}, verdicts
    verdicts = made_up(tmp_path / "c", {})  # nobody has found anything
    assert verdicts.pop("spanner-sound") == AGREES
    for about_solved in ("gripper-solved", "bias-fewer-solved", "undo-perfect"):
        assert verdicts.pop(about_solved) == DISAGREES
    assert set(verdicts.values()) == {OPEN}, verdicts
