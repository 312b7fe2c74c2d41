"""Biases of the fuzzer: equal prefixes, tasks that count, what is shared and what is missing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.campaigns.metrics import TestedPool, oracle_coverage
from misstep.campaigns.testing import test as run_test
from misstep.errors import InputFileError, UnsupportedError
from misstep.experiments.claims import AGREES, DISAGREES, OPEN
from misstep.experiments.definition import Definition, load_definition
from misstep.experiments.driver import run_experiment
from misstep.experiments.kinds import biases, join, tasks
from misstep.experiments.kinds.remembering import RememberingPolicy, remembering
from misstep.experiments.page import write_page
from misstep.experiments.report import write_report
from misstep.experiments.sources import NOWHERE, Sources, named
from misstep.experiments.store import DONE, begin
from misstep.policies.load import load_policy
from misstep.policies.policy import FAILED, Answers, Candidates, Policy, States
from misstep.policies.shipped import SHIPPED
from misstep.tasks.domains import generate
from misstep.tasks.pddl.load import load_planning_task
from support.experiments import definition

ROW: dict[str, Any] = {
    "name": "g",
    "domain": "gripper",
    "sizes": [{"balls": 3}],
    "competition": None,
    "tasks_folder": None,
    "most_tasks": 9,
    "policies": ["noisy:0.3:4+heuristic:ff"],
}
STEP: dict[str, Any] = {
    "biases": ["0", "pi", "loop", "loop h*"],
    "oracle": "bmo(100)+aras/ehc",
    "pool": 8,
    "walk_length": 5,
    "state_budget": 50,
    "expansion_budget": 200,
    "exact_states": 10_000,
    "seconds": None,
    "unsolved_starts": False,
}


def payload(row: dict[str, Any], **changes: Any) -> dict[str, Any]:
    parts = biases.units({**STEP, **changes}, {**row, "subject": tasks.subject(row)}, 2)
    return next(iter(parts)).payload


def seen(results: dict[str, dict[str, Any]], row: str = "g", seed: int = 0) -> list[dict[str, Any]]:
    """Observations of results by task, joined."""
    found: list[dict[str, Any]] = []
    for task, pools in results.items():
        own = {"policy": "p", "task": task, "solves_start": bool(pools), "pools": pools}
        found += [{"row": row, "seed": seed, **x} for x in biases.observations({}, own)]
    join("planning-biases", found)
    return found


def made_up(bugs: list[bool]) -> dict[str, Any]:
    return {"seconds": 0.1, "states": [[True, bug, False, 7] for bug in bugs]}


def test_pools_are_cut_to_equal_prefixes() -> None:
    """Against the metric, on made-up pools of different lengths."""
    random = np.random.default_rng(0)
    names = ["0", "pi", "detour", "loop h*"]
    results = {
        f"task {number}": {
            name: made_up((random.random(int(random.integers(0, 9))) < 0.5).tolist())
            for name in names
        }
        for number in range(12)
    }
    found = seen(results)
    for column, compared in (("practical", names[:3]), ("all_biases", names)):
        pools = {
            name: {
                task: TestedPool(
                    len(by[name]["states"]),
                    tuple(k for k, (_, bug, *_) in enumerate(by[name]["states"]) if bug),
                )
                for task, by in results.items()
            }
            for name in compared
        }
        exact = oracle_coverage(pools)
        assert 0 < exact["0"].states < sum(pool.size for pool in pools["0"].values())
        for name in names:
            own = [one for one in found if one.get("bias") == name and one[column]]
            wanted = exact.get(name)
            counts = (0, 0) if wanted is None else (wanted.states, wanted.bugs)
            assert (len(own), sum(one["bug"] for one in own)) == counts


def test_without_exact_distances_a_task_has_no_part_in_the_second_comparison() -> None:
    pools = {"0": made_up([True, False]), "loop": made_up([True]), "loop h*": made_up([])}
    found = seen({"large": pools})
    assert [own["practical"] for own in found] == [True, False, True, False]
    assert not any(own["all_biases"] for own in found)
    result = biases.run(payload(ROW, biases=["0", "loop h*"], exact_states=10))
    assert [len(pool["states"]) for pool in result["pools"].values()] == [8, 0]


def test_only_tasks_whose_start_is_solved_count() -> None:
    result = biases.run(payload({**ROW, "policies": ["first"]}))
    assert (result["solves_start"], result["pools"]) == (False, {})
    found = seen({"lost": {}, "won": {"0": made_up([True]), "pi": made_up([False])}})
    assert [(own["task"], own["practical"]) for own in found] == [
        ("lost", False),
        ("won", True),
        ("won", True),
    ]


def test_other_starts_count_where_they_are_asked_for() -> None:
    result = biases.run(payload({**ROW, "policies": ["first"]}, unsolved_starts=True))
    assert not result["solves_start"]
    assert [len(pool["states"]) for pool in result["pools"].values()] == [8] * 4


def test_a_policy_may_depend_on_the_seed() -> None:
    row = {
        **ROW,
        "subject": {
            "tasks": [{"files": [], "name": "t"}],
            "policies": ["random:{seed}"],
            "digests": None,
        },
    }
    found = [next(iter(biases.units(STEP, row, seed))).payload["policies"] for seed in (0, 5)]
    assert found == [["random:0"], ["random:5"]]


def network(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    """A row about a network that is not looked into."""
    folder = tmp_path / "gripper" / "tasks"
    folder.mkdir(parents=True)
    (folder.parent / "model.ckpt").write_bytes(b"")
    for balls in (2, 10, 3):
        made = generate("gripper", balls=balls)
        (folder / "domain.pddl").write_text(made.domain_pddl)
        (folder / f"prob{balls}.pddl").write_text(made.problem_pddl)
    own = {"gnn": "gripper", "gnn_folder": str(tmp_path), "device": "cpu", "gnn_options": None}
    return {**ROW, **own, **changes}


def test_tasks_of_a_network_are_generated_ones_and_chosen_files(tmp_path: Path) -> None:
    row = network(tmp_path, only=["prob10", "prob?"], renamed={"at-robot": "at-robby"})
    found = tasks.subject(row)["tasks"]
    names = [tasks.task_name(own) for own in found]
    assert names[0].startswith("gripper, balls 3")
    assert names[1:] == ["gripper/prob10", "gripper/prob2", "gripper/prob3"]
    renamed, given = (
        {own.name for own in tasks.open_task(own).lifted.predicates} for own in found[:2]
    )
    assert (given - renamed, renamed - given) == ({"at-robot"}, {"at-robby"})
    with pytest.raises(InputFileError, match="no task prob7"):
        tasks.subject({**row, "only": ["prob7"]})


def test_files_of_a_competition_take_the_place_of_generated_tasks(tmp_path: Path) -> None:
    row = network(tmp_path, only=["prob10"], competition="gripper", of_competition=["prob[23]"])
    names = [tasks.task_name(own) for own in tasks.subject(row)["tasks"]]
    assert names == ["gripper, balls 3, task 0", "gripper/prob10"]
    shutil.copytree(tmp_path / "gripper" / "tasks", tmp_path / "ipc" / "gripper")
    given = {**row, "tasks_folder": str(tmp_path / "ipc")}
    names = [tasks.task_name(own) for own in tasks.subject(given)["tasks"]]
    assert names == ["gripper/prob2", "gripper/prob3", "gripper/prob10"]


def test_biases_are_placed_row_by_row() -> None:
    found = seen({"t": {"0": made_up([False, True]), "pi": made_up([True, True])}})
    assert [own["place"] for own in found] == ["behind", "behind", "best", "best"]
    tied = seen({"t": {"0": made_up([False, True]), "pi": made_up([True, False])}})
    assert {own["place"] for own in tied} == {"tied"}


def test_what_biases_share_changes_nothing() -> None:
    """A pool and its bugs are those of a campaign of its own."""
    result = biases.run(payload(ROW))
    task = tasks.open_task(tasks.subject(ROW)["tasks"][0])
    for name, pool in result["pools"].items():
        with run_test(
            task,
            ROW["policies"][0],
            preset="p24",
            fuzz=biases.BIASES[name].fuzz,
            estimate="h*" if biases.BIASES[name].exact else "ff",
            pool=8,
            oracle=STEP["oracle"],
            seed=2,
        ) as alone:
            wanted = [
                [
                    *(own.run.outcome == "goal", own.verdicts[0].is_bug),
                    *(own.verdicts[0].verdict == "OPTIMAL", own.run.cost),
                ]
                for own in alone.records
            ]
        assert pool["states"] == wanted
    assert any(bug for pool in result["pools"].values() for _, bug, *_ in pool["states"])


class Counting(Policy):
    """Counts what it is asked, and fails in states with an odd last value."""

    def __init__(self, inner: Policy) -> None:
        super().__init__(inner.task)
        self.inner, self.asked = inner, 0

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        self.asked += len(states)
        answers = self.inner.decide(states, candidates)
        for row in np.flatnonzero(states[:, -1] % 2).tolist():
            answers.operators[row], answers.messages[row] = FAILED, "odd"
        return answers


def test_a_policy_is_asked_once_unless_it_failed() -> None:
    task = load_planning_task(generate("gripper", seed=0, balls=2))
    inner = Counting(load_policy("first", task))
    policy = RememberingPolicy(inner)
    start = np.array([task.initial_state.values], dtype=np.int32)
    successors = task.apply_batch(
        np.repeat(start, len(task.applicable_batch(start)[1]), axis=0),
        task.applicable_batch(start)[1],
    )
    states = np.concatenate((start, successors, start))
    wanted = Counting(load_policy("first", task)).decide(states)
    for _ in range(3):
        answers = policy.decide(states)
        assert answers.operators.tolist() == wanted.operators.tolist()
        assert answers.messages == wanted.messages
    distinct = {row.tobytes() for row in states}
    failing = {row.tobytes() for row in states if row[-1] % 2}
    assert inner.asked == len(distinct) + 2 * len(failing)
    assert len(distinct) < len(states)
    native = load_policy("first", task)
    assert remembering(native) is native


def test_a_trained_network_comes_before_the_shipped_one(tmp_path: Path) -> None:
    row = {**ROW, "policies": ["shipped:gripper"], "policies_folder": str(tmp_path)}
    assert tasks.subject(row)["policies"] == ["shipped:gripper"]
    (tmp_path / "gripper").mkdir()
    for name in ("gripper/best.safetensors", "gripper.safetensors"):
        shutil.copy(SHIPPED / "asnets" / "gripper.safetensors", tmp_path / name)
        found = payload(row, biases=["0"])
        spec = f"asnet:{tmp_path / name}"
        assert found["policies"] == [spec, "shipped:gripper"]
        assert list(found["digests"]) == [spec]
        assert biases.run(found)["policy"] == spec


def test_without_any_network_a_row_says_where_to_put_one() -> None:
    row = {**ROW, "policies": ["shipped:nothing"], "policies_folder": None}
    with pytest.raises(UnsupportedError, match=r"DIR/gripper\.safetensors"):
        tasks.subject(row)
    assert (
        tasks.subject({**row, "policies": ["shipped:nothing", "first"]})["policies"][1] == "first"
    )


SMALL_GNN = """
name = "nets"
title = "Networks"
world = "planning"
[[rows]]
name = "here"
domain = "gripper"
sizes = [{ balls = 2 }]
policies = ["shipped:gripper"]
[[rows]]
name = "away"
domain = "delivery"
gnn = "delivery"
[[steps]]
name = "biases"
kind = "planning-biases"
biases = ["0", "pi"]
pool = 3
[[tables]]
name = "coverage"
title = "Coverage"
step = "biases"
where = "practical"
column = "bias"
cells = { coverage = "100 * share(bug)" }
baseline = "0"
"""


LOST_ROW = """
[[rows]]
name = "lost"
domain = "gripper"
competition = "lost"
policies = ["shipped:gripper"]
[[steps]]"""
POLICY_TABLE = """
[[tables]]
name = "policies"
title = "Policies"
step = "biases"
rows = ["row", "policy"]
cells = { states = "count(practical)" }
baseline = "none"
"""


@pytest.mark.parametrize("given", [False, True])
def test_a_checkpoint_that_is_missing_is_named_in_its_row(tmp_path: Path, given: bool) -> None:
    (tmp_path / "nets").mkdir()
    sources = Sources(gnn=tmp_path / "nets") if given else NOWHERE
    found = run_experiment(definition(SMALL_GNN), tmp_path / "out", sources=sources)
    assert (found.done, found.without) == (1, 1)
    write_report(tmp_path / "out")
    table = (tmp_path / "out" / "report" / "tables" / "coverage.md").read_text()
    row = next(line for line in table.splitlines() if line.startswith("| away"))
    assert ("delivery/model.ckpt: no checkpoint" if given else "--gnn DIR") in row.replace("\\", "")
    assert any(line.startswith("| here | 0") for line in table.splitlines())


@pytest.mark.parametrize("typed", ["nets", "absolute"])
def test_no_report_says_where_folders_lie_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    """Folders are named as they were typed: of missing tasks and networks, and of a policy in a table."""
    monkeypatch.chdir(tmp_path)
    nets = Path("nets") if typed == "nets" else tmp_path / "nets"
    (nets / "delivery").mkdir(parents=True)
    (nets / "delivery" / "model.ckpt").write_bytes(b"")  # and no tasks beside it
    shutil.copy(SHIPPED / "asnets" / "gripper.safetensors", nets)
    asked = SMALL_GNN.replace("[[steps]]", LOST_ROW) + POLICY_TABLE
    sources = Sources(tasks=nets, gnn=nets, policies=nets)
    found = run_experiment(definition(asked), tmp_path / "out", sources=sources)
    assert (found.done, found.without) == (1, 2)
    report = write_report(tmp_path / "out")
    write_page(tmp_path / "out", tmp_path / "page.md")
    texts = [path.read_text() for path in (*report.files, tmp_path / "page.md")]
    assert not any(str(tmp_path) in text.replace("\\", "") for text in texts)
    page = texts[-1].replace("\\", "")
    for name in ("asnet:nets/gripper.safetensors", "nets/lost", "nets/delivery/tasks"):
        assert name in page, name
    assert str(tmp_path) not in json.dumps(report.as_dict()["missing"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("gnn:/a/b/model.ckpt", "gnn:nets/model.ckpt"),
        ("/a/b: no such folder", "nets: no such folder"),
        ("/a/b/c/x and /a/b", "deep/x and nets"),
        ("/a/bc/x, /a/b.old, /a/b-2", "/a/bc/x, /a/b.old, /a/b-2"),
    ],
)
def test_folders_are_renamed_whole(text: str, told: str) -> None:
    assert named(text, {"/a/b": "nets", "/a/b/c": "deep"}) == told


def judged(folder: Path, bugs: dict[str, int], own: Definition) -> dict[str, str]:
    """Verdicts on the claims of p24, if each bias finds so many bugs among ten states of each row."""
    units = own.units("smoke", 1)
    with begin(folder, own.name, "smoke") as store:
        store.update(own, units, "smoke", 1)
        for unit in units:
            pools = {name: made_up([k < count for k in range(10)]) for name, count in bugs.items()}
            if len(pools) == 5 and unit.row.startswith("B"):  # elsewhere another one is best
                pools["0"], pools["loop"] = pools["loop"], pools["0"]
            result = {"policy": "p", "task": "t", "solves_start": True, "pools": pools}
            store.put(unit.key, DONE, result, 0.1)
    return {claim.name: claim.verdict for claim in write_report(folder).claims}


ABOUT_SINGLE_ROWS = (
    *("elevator-mostly-bugs", "woodwork-gains", "blocks-asnet-all-alike"),
    "fewer-states-for-all",
)


def test_claims_can_turn_out_either_way(tmp_path: Path) -> None:
    own = load_definition("p24")
    names = list(biases.BIASES)
    # As the paper has it: the new ones are a little better than the cost, which is better than nothing.
    like = judged(tmp_path / "like", dict(zip(names, (2, 4, 4, 4, 5, 4, 4, 5), strict=True)), own)
    assert like.pop("gripper-asnet-optimal") == DISAGREES
    assert like.pop("none-is-best-everywhere") == DISAGREES  # it is always the same one
    for name in ABOUT_SINGLE_ROWS:
        assert like.pop(name) == DISAGREES
    assert set(like.values()) == {AGREES}
    # And the other way round.
    unlike = judged(tmp_path / "no", dict(zip(names, (5, 1, 3, 1, 3, 9, 9, 9), strict=True)), own)
    assert unlike.pop("gripper-asnet-optimal") == DISAGREES
    assert unlike.pop("none-is-best-everywhere") == DISAGREES
    assert unlike.pop("older-ahead-of-all") == AGREES
    assert set(unlike.values()) == {DISAGREES}
    ahead = judged(tmp_path / "old", dict(zip(names, (5, 9, 3, 1, 3, 2, 2, 2), strict=True)), own)
    assert ahead["older-ahead-of-all"] == DISAGREES
    more = judged(tmp_path / "more", dict(zip(names, (8, 8, 8, 9, 8, 8, 8, 8), strict=True)), own)
    assert (more["elevator-mostly-bugs"], more["woodwork-gains"]) == (AGREES, AGREES)
    five = judged(tmp_path / "five", dict(zip(names[:5], (2, 4, 4, 4, 5), strict=True)), own)
    assert five["none-is-best-everywhere"] == AGREES
    assert five["hff-stands-in"] == OPEN
    assert five["fewer-states-for-all"] == AGREES
    none = judged(tmp_path / "none", dict.fromkeys(names, 0), own)
    assert none.pop("gripper-asnet-optimal") == AGREES
    assert none.pop("blocks-asnet-all-alike") == AGREES
    for name in ("elevator-mostly-bugs", "woodwork-gains", "fewer-states-for-all"):
        assert none.pop(name) == DISAGREES
    assert set(none.values()) == {OPEN}
