"""Trainings of P25: a unit is one training with one seed, and what its models do on test tasks.

Configurations other than `line` begin with the same start-up phase whatever their budget is, and then add one model
after the other. So the training with the largest budget contains those with smaller ones, and only `line` is trained
anew for each budget. From each the final policy is chosen by `pi-test-val`; from the `line` with the largest
budget also by the four other criteria, unless `compare` is false. `start` is what there is after the start-up phase.

Coverage is over all test tasks. States are compared on the relevant tasks alone: those whose initial state the choices
of all compared criteria solve, and where testing came to the end of the pool with each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from misstep.errors import UnsupportedError
from misstep.experiments.expressions import Value
from misstep.experiments.kinds import Json, Part
from misstep.experiments.kinds.learning import TASK_KEYS, open_tasks, split
from misstep.experiments.kinds.tasks import task_name
from misstep.experiments.kinds.trainings import (
    LEARNING_KEYS,
    HeldOut,
    learning_of,
    settings_of,
    train_in,
)
from misstep.experiments.schema import flag, texts, wholes
from misstep.training.algorithms import CRITERIA, Configuration, configuration, select_offline
from misstep.training.folder import TrainingFolder
from misstep.training.tree import PolicyTree

WORLD = "learning"
VERSION = 1
CONFIGURATIONS = ("line", "line-pitest", "tree", "tree-pitest")
CHOICE = "pi-test-val"
COMPARED = (
    "solved-val",
    "pi-test-val",
    "solved-test",
)  # on states; the others look at training tasks only
START = "start"
KEYS = {
    **{name: key for name, key in LEARNING_KEYS.items() if name != "seconds"},
    **TASK_KEYS,
    "configurations": texts(CONFIGURATIONS),
    "budgets": wholes(),
    "stands_for": wholes(),
    "compare": flag(True),
}
COLUMNS = (
    *("configuration", "budget", "stands_for", "arm", "largest", "criterion", "model", "epochs"),
    *("task", "difficulty", "left_out", "why", "solved", "relevant", "completed", "pool"),
    *("states", "solved_states", "bugs"),
)


def units(step: Json, row: Json, seed: int) -> Iterator[Part]:
    if len(step["budgets"]) != len(step["stands_for"]):
        raise UnsupportedError(
            f"the step {step['name']} has {len(step['budgets'])} budgets and says for {len(step['stands_for'])} what"
            " they stand for",
            expected="as many of one as of the other",
        )
    tasks = split(step, row["subject"])
    names = dict(zip(map(str, step["budgets"]), step["stands_for"], strict=True))
    largest = max(step["budgets"])
    started = False
    for name in step["configurations"]:
        for budgets in _together(name, step):
            payload = {
                "train": tasks.train,
                "validate": tasks.validate,
                "test": tasks.test,
                "missing": tasks.missing,
                "most_operators": step["most_operators"],
                "learning": learning_of(step, row),
                "configuration": name,
                "budgets": budgets,
                "stands_for": {str(own): names[str(own)] for own in budgets},
                "criteria": step["compare"] and name == "line" and max(budgets) == largest,
                "start": name != "line" and not started,
                "largest": largest,
                "seed": seed,
            }
            started = started or name != "line"
            epochs = " and ".join(map(str, budgets))
            yield Part(f"{name}, {epochs} epochs", payload, max(budgets))


def _together(name: str, step: Json) -> list[list[int]]:
    """Budgets that one training serves."""
    groups: dict[Configuration | int, list[int]] = {}
    for budget in sorted(step["budgets"]):
        own = configuration(name, budget, step["inits"], step["start"])
        begun = Configuration(own.n_init, own.n_start, 0, own.n_exp, own.online)
        groups.setdefault(budget if name == "line" else begun, []).append(budget)
    return list(groups.values())


def run(payload: Json) -> Json:
    raise UnsupportedError("a training needs a folder", where=payload["configuration"])


def run_in(payload: Json, place: Path) -> Json:
    most = payload["most_operators"]
    tasks, validation = (open_tasks(payload[name], most) for name in ("train", "validate"))
    tests = open_tasks([spec for _, spec in payload["test"]], most)
    settings = settings_of(payload, payload["configuration"], max(payload["budgets"]))
    train_in(place / "training", tasks, validation, settings, None)
    with TrainingFolder.open_folder(place / "training") as kept:
        held_out = HeldOut(kept, tests.tasks, payload["learning"], place / "tests.jsonl")
        choices = [_choice(payload, held_out, *own) for own in _choices(payload, held_out)]
        _compare(choices, held_out)
    return {
        "choices": choices,
        "train": len(tasks.tasks),
        "validate": len(validation.tasks),
        "places": tests.places,
        "left_out": {
            "train": tasks.left_out,
            "validate": validation.left_out,
            "test": tests.left_out,
        },
    }


def _choices(payload: Json, held_out: HeldOut) -> Iterator[tuple[str, int, str, int]]:
    """Configuration, budget, criterion and the model that it chooses."""
    name, own = payload["configuration"], payload["learning"]
    nodes = held_out.kept.tree.nodes
    for budget in payload["budgets"]:
        size = configuration(name, budget, own["inits"], own["start"]).models
        tree = PolicyTree(nodes[:size])
        yield name, budget, CHOICE, select_offline(tree, CHOICE)
        if payload["criteria"] and budget == payload["largest"]:
            solved = {node.id: sum(held_out.solves(node.id)) for node in tree}
            for criterion in CRITERIA:
                if criterion != CHOICE:
                    yield name, budget, criterion, select_offline(tree, criterion, solved)
    if payload["start"]:
        budget = min(payload["budgets"])
        size = configuration(START, budget, own["inits"], own["start"]).models
        yield START, budget, CHOICE, select_offline(PolicyTree(nodes[:size]), CHOICE)


def _choice(
    payload: Json, held_out: HeldOut, name: str, budget: int, criterion: str, model: int
) -> Json:
    return {
        "configuration": name,
        "budget": budget,
        "criterion": criterion,
        "model": model,
        "epochs": held_out.kept.tree[model].epochs,
        "compared": payload["criteria"] and criterion in COMPARED,
        "solved": held_out.solves(model),
        "tests": {},
    }


def _compare(choices: list[Json], held_out: HeldOut) -> None:
    """Test on the tasks that all compared choices solve."""
    compared = [own for own in choices if own["compared"]]
    for place in range(len(held_out.tasks)):
        if compared and all(own["solved"][place] for own in compared):
            for own in compared:
                found = held_out.test(own["model"], place)
                values = [found.pool, found.processed, found.solved, found.bugs]
                own["tests"][str(place)] = values


def observations(payload: Json, result: Json) -> Iterator[dict[str, Value]]:
    yield from _left_out(payload, result)
    compared = [own for own in result["choices"] if own["compared"]]
    for own in result["choices"]:
        standing = payload["stands_for"][str(own["budget"])]
        about: dict[str, Value] = {
            "configuration": own["configuration"],
            "budget": own["budget"],
            "stands_for": standing,
            "arm": START if own["configuration"] == START else f"{own['configuration']} {standing}",
            "largest": own["budget"] == payload["largest"],
            "criterion": own["criterion"],
            "model": own["model"],
            "epochs": own["epochs"],
            "left_out": False,
        }
        for place, solved in zip(result["places"], own["solved"], strict=True):
            difficulty, spec = payload["test"][place]
            name = task_name(spec)
            tested = _tested(own, compared, str(result["places"].index(place)))
            yield {**about, "task": name, "difficulty": difficulty, "solved": solved, **tested}


def _tested(own: Json, compared: list[Json], place: str) -> dict[str, Value]:
    """The test of a choice on a task, where there is one; it is relevant if all compared ones were completed."""
    if place not in own["tests"]:
        return {"relevant": False}
    pool, states, solved, bugs = own["tests"][place]
    complete = all(one["tests"][place][0] == one["tests"][place][1] for one in compared)
    return {
        "relevant": complete,
        "completed": pool == states,
        "pool": pool,
        "states": states,
        "solved_states": solved,
        "bugs": bugs,
    }


def _left_out(payload: Json, result: Json) -> Iterator[dict[str, Value]]:
    """The tasks that could not be loaded; the same for all trainings of a row."""
    if payload["configuration"] != "line" or max(payload["budgets"]) != payload["largest"]:
        return
    missing: list[list[Any]] = [[own, f"all of {own}", why] for own, why in payload["missing"]]
    missing += [["train", *own] for own in result["left_out"]["train"]]
    missing += [["validate", *own] for own in result["left_out"]["validate"]]
    names = {task_name(spec): difficulty for difficulty, spec in payload["test"]}
    missing += [[names.get(own[0]), *own] for own in result["left_out"]["test"]]
    for difficulty, task, why in missing:
        yield {"left_out": True, "difficulty": difficulty, "task": task, "why": why}


def longest(payload: Json) -> float | None:  # noqa: ARG001
    return None
