"""A policy for each domain: a unit is one training with one seed, and its result holds the model itself.

The model is chosen on validation tasks, among the models of a training and then among the trainings of a domain, and
tested on others. `policies/DOMAIN.safetensors` in the folder of the experiment is the policy, and its card, as JSON and
as text, says what it was trained on, what it solves and where it fails.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap

from misstep.binomial import percent
from misstep.errors import InputFormatError, UnsupportedError
from misstep.experiments.expressions import Value
from misstep.experiments.kinds import Finished, Json, Part
from misstep.experiments.kinds.learning import TASK_KEYS, open_tasks, split
from misstep.experiments.kinds.trainings import (
    LEARNING_KEYS,
    POOL_SEEDS,
    HeldOut,
    learning_of,
    settings_of,
    train_in,
)
from misstep.experiments.schema import choice, whole
from misstep.files import refuse_linked_folders, write_bytes
from misstep.policies.asnet.model_file import read_model
from misstep.training.algorithms import NAMES, select_offline
from misstep.training.folder import TrainingFolder
from misstep.training.score import Parts, ranking
from misstep.training.testing import TaskResult, summarise

WORLD = "learning"
VERSION = 1
FOLDER = "policies"
CHOICE = "pi-test-val"
GOOD = 0.5  # of the held-out tasks: a policy that solves fewer is kept, and its card says so
KEYS = {
    **LEARNING_KEYS,
    **TASK_KEYS,
    "configuration": choice(*NAMES, default="original"),
    "epochs": whole(),
}
COLUMNS = (
    *("domain", "model", "models", "bytes", "success", "group", "task", "difficulty"),
    *("solved", "pool", "states", "solved_states", "bugs", "seconds"),
)


def units(step: Json, row: Json, seed: int) -> Iterator[Part]:
    tasks = split(step, row["subject"])
    payload = {
        "domain": row["domain"],
        "train": tasks.train,
        "validate": tasks.validate,
        "test": tasks.test,
        "most_operators": step["most_operators"],
        "learning": learning_of(step, row),
        "configuration": step["configuration"],
        "epochs": step["epochs"],
        "seconds": step["seconds"],
        "seed": seed,
    }
    yield Part(f"{step['configuration']}, {step['epochs']} epochs", payload, step["epochs"])


def run(payload: Json) -> Json:
    raise UnsupportedError("a training needs a folder", where=payload["domain"])


def run_in(payload: Json, place: Path) -> Json:
    most = payload["most_operators"]
    tasks, validation = (open_tasks(payload[name], most) for name in ("train", "validate"))
    tests = open_tasks([spec for _, spec in payload["test"]], most)
    settings = settings_of(payload, payload["configuration"], payload["epochs"])
    train_in(place / "training", tasks, validation, settings, payload["seconds"])
    with TrainingFolder.open_folder(place / "training") as kept:
        model = select_offline(kept.tree, CHOICE)
        node = kept.tree[model]
        held_out = HeldOut(kept, tests.tasks, payload["learning"], place / "tests.jsonl")
        results = [held_out.test(model, k) for k in range(len(tests.tasks))]
        file = kept.model_path(model).read_bytes()
        return {
            "model": model,
            "models": len(kept.tree),
            "epochs": node.epochs,
            "loss": node.loss,
            "success": node.success,
            "digest": node.digest,
            "file": base64.b64encode(file).decode("ascii"),
            "train": [task.name for task in tasks.tasks],
            "validation": [own.as_dict() for own in node.results],
            "test": [own.as_dict() for own in results],
            "places": tests.places,
            "left_out": [*tasks.left_out, *validation.left_out, *tests.left_out],
            "seconds": sum(sum(own.seconds.values()) for own in kept.tree),
        }


def observations(payload: Json, result: Json) -> Iterator[dict[str, Value]]:
    about = {
        "domain": payload["domain"],
        "bytes": len(base64.b64decode(result["file"])),
        **{name: result[name] for name in ("model", "models", "success", "seconds")},
    }
    difficulties = [payload["test"][place][0] for place in result["places"]]
    groups = (
        ("validation", ["training"] * len(result["validation"])),
        ("test", difficulties),
    )
    for group, names in groups:
        for difficulty, own in zip(names, result[group], strict=True):
            yield {
                **about,
                "group": group,
                "difficulty": difficulty,
                "task": own["task"],
                "solved": own["initial_solved"],
                "pool": own["pool"],
                "states": own["processed"],
                "solved_states": own["solved"],
                "bugs": own["bugs"],
            }


def finish(folder: Path, parts: Sequence[Finished]) -> None:
    """Write the best policy of each domain, with its card."""
    by_domain: dict[str, list[Finished]] = {}
    for part in parts:
        by_domain.setdefault(part.payload["domain"], []).append(part)
    out = folder / FOLDER
    refuse_linked_folders(folder, (FOLDER,))
    out.mkdir(parents=True, exist_ok=True)
    for domain, own in by_domain.items():
        if Path(domain).name != domain:
            raise InputFormatError(f"the domain {domain!r:.60} is not the name of a file")
        best = own[_best([part.result for part in own])]
        file = out / f"{domain}.safetensors"
        write_bytes(file, base64.b64decode(best.result["file"]), follow=False)
        card = _card(domain, best, len(own), file)
        text = json.dumps(card, indent=1).encode() + b"\n"
        write_bytes(out / f"{domain}.json", text, follow=False)
        write_bytes(out / f"{domain}.md", _text(card).encode(), follow=False)


def _best(results: Sequence[Json]) -> int:
    """By P25's score on the validation tasks, which are the same for all of a domain."""
    parts = [Parts.of([TaskResult(**one) for one in own["validation"]]) for own in results]
    return ranking(parts, [0] * len(parts))[0]


def _card(domain: str, part: Finished, trainings: int, file: Path) -> Json:
    payload, result = part.payload, part.result
    weights, digest = read_model(file)
    test = [TaskResult(**own) for own in result["test"]]
    validation = [TaskResult(**own) for own in result["validation"]]
    learning = payload["learning"]
    return {
        "policy": file.name,
        "domain": domain,
        "digest": digest,
        "bytes": file.stat().st_size,
        "good": sum(own.initial_solved for own in test) >= GOOD * max(1, len(test)),
        "architecture": {
            "hidden": weights.hidden,
            "layers": weights.layers,
            "parameters": weights.parameter_count,
        },
        "seed": part.seed,
        "model": result["model"],
        "chosen_among": {"trainings": trainings, "models": result["models"], "criterion": CHOICE},
        "training": {
            "tasks": result["train"],
            "configuration": payload["configuration"],
            "recipe": learning["recipe"],
            "steps": learning["steps"],
            "epochs": result["epochs"],
            "loss": result["loss"],
            "success": result["success"],
            "seconds": round(result["seconds"], 1),
        },
        "validation": {"names": [own.task for own in validation], **summarise(validation)},
        "held_out": {"names": [own.task for own in test], **summarise(test)},
        "test": {
            "pool": learning["test_pool"],
            "seed": POOL_SEEDS["test"],
            "oracle": learning["test_oracle"],
            "budget": learning["test_budget"],
            "max_steps": learning["max_steps"],
        },
        "known_weaknesses": {
            "unsolved": [own.task for own in test if not own.initial_solved],
            "bugs": {
                own.task: f"{own.bugs} of {own.processed} states"
                for own in test
                if own.initial_solved and own.bugs
            },
        },
        "command": "misstep experiment policies",
    }


def _text(card: Json) -> str:
    held, training, among = card["held_out"], card["training"], card["chosen_among"]
    size = f"{card['architecture']['parameters']:,} parameters, {card['bytes']:,} bytes"
    lines = [
        f"# {card['domain']}: an ASNet",
        "",
        f"{size}, seed {card['seed']}, model {card['model']} of its training.",
        "",
    ]
    if not card["good"]:
        lines += [
            f"**Not a good policy**: it solves {held['coverage']} of {held['tasks']} tasks that it has not seen.",
            "It is the best that came of these trainings, and kept so that its numbers can be seen.",
            "",
        ]
    lines += [
        *_item(
            f"Trained on: {'; '.join(training['tasks'])}. It solves {percent(training['success'])}% of them."
        ),
        f"- {training['epochs']} epochs of {training['steps']} minibatches, recipe {training['recipe']}.",
        f"- Chosen among {among['trainings']} trainings and {among['models']} models of this one by {CHOICE}, with",
        f"  {card['validation']['coverage']} of {card['validation']['tasks']} validation tasks solved.",
        f"- Held out: {held['coverage']} of {held['tasks']} tasks; of {held['processed']} states {held['solved']}",
        f"  solved, {held['bugs']} counted as bugs. A task that is not solved from its initial state",
        f"  counts as all bugs. Pools of {card['test']['pool']} states a task, oracle `{card['test']['oracle']}`.",
        *_item(
            f"Known weaknesses: fails on {'; '.join(card['known_weaknesses']['unsolved']) or 'none of them'}."
        ),
    ]
    lines += [
        f"  {task}: {text} are bugs." for task, text in card["known_weaknesses"]["bugs"].items()
    ]
    return "\n".join([*lines, "", f"Made by `{card['command']}`.", ""])


def _item(text: str) -> list[str]:
    return wrap(text, 119, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)


def longest(payload: Json) -> float | None:  # noqa: ARG001
    return None


__all__ = ["FOLDER", "finish", "observations", "run", "run_in", "units"]
