"""Sketches for the built-in domains, written for the tests, and random ones over all elements."""

from __future__ import annotations

import random
from pathlib import Path

from misstep.policies.sketch.document import CONDITIONS, EFFECTS
from misstep.tasks.task import Task

# For `gripper`, `ferry`, `visitall` and `miconic` they never fail; for `gripper` they carry one ball at a time. For
# `blocksworld` everything goes to the table and little is built; for `spanner` they leave no tool behind.
_FILES = Path(__file__).resolve().parents[1] / "policies" / "sketch" / "files"
SKETCHES = {file.stem: file.read_text() for file in sorted(_FILES.glob("*.txt"))}
# A small task of each (`support.tasks`).
TASK_OF = {
    "gripper": "gripper-4-scattered",
    "ferry": "ferry-3",
    "blocksworld": "blocksworld-4",
    "spanner": "spanner-3",
    "visitall": "visitall-3x3",
    "miconic": "miconic-3",
}


def random_sketch(task: Task, seed: int, features: int = 12, rules: int = 8) -> str:
    """A sketch of random features over all elements, deep enough that constructors meet each other."""
    draw = _Draw(task, random.Random(seed))
    numericals = [draw.numerical(3) for _ in range(features)]
    booleans = draw.booleans()
    lines = ["(:policy (:booleans"]
    lines += [f' (b{i} "{text}")' for i, text in enumerate(booleans)]
    lines += [")(:numericals"]
    lines += [f' (n{i} "{text}")' for i, text in enumerate(numericals)]
    lines += [")"]
    names = [f"b{i}" for i in range(len(booleans))] + [f"n{i}" for i in range(len(numericals))]
    for _ in range(rules):
        parts = []
        for tokens, count in (
            (CONDITIONS, draw.random.randrange(3)),
            (EFFECTS, 1 + draw.random.randrange(2)),
        ):
            chosen = draw.random.sample(names, count)
            parts.append(
                " ".join(
                    f"({draw.random.choice([t for t in tokens if t[3] == name[0]])} {name})"
                    for name in chosen
                )
            )
        lines.append(f"(:rule (:conditions {parts[0]}) (:effects {parts[1]}))")
    return "\n".join([*lines, ")"])


class _Draw:
    def __init__(self, task: Task, source: random.Random) -> None:
        self.random = source
        lifted = task.lifted
        arity = dict.fromkeys(lifted.types, 1)
        arity |= {p.name: p.arity for p in lifted.predicates}
        arity |= {p.name + "_g": p.arity for p in lifted.predicates}
        self.nullary = [name for name, n in arity.items() if n == 0]
        self.unary = [name for name, n in arity.items() if n >= 1]
        self.binary = [name for name, n in arity.items() if n >= 2]
        self.arity = arity
        self.objects = [named.name for named in lifted.objects]

    def booleans(self) -> list[str]:
        return [f"b_nullary({name})" for name in self.nullary]

    def numerical(self, depth: int) -> str:
        kind = self.random.randrange(5 if self.binary else 1)
        if kind == 0:
            return f"n_count({self.concept(depth)})"
        if kind == 1:
            return f"n_count({self.role(depth)})"
        return f"n_concept_distance({self.concept(depth)},{self.role(depth)},{self.concept(depth)})"

    def concept(self, depth: int) -> str:
        simple = ["primitive", "primitive", "primitive", "top", "bot", "one_of"]
        nested = ["and", "not", *(["some", "all", "equal"] if self.binary else [])]
        match self.random.choice(simple if depth == 0 else [*nested, *nested, *simple]):
            case "top":
                return "c_top"
            case "bot":
                return "c_bot"
            case "one_of":
                return f"c_one_of({self.random.choice(self.objects)})"
            case "and":
                return f"c_and({self.concept(depth - 1)},{self.concept(depth - 1)})"
            case "not":
                return f"c_not({self.concept(depth - 1)})"
            case "some":
                return f"c_some({self.role(depth - 1)},{self.concept(depth - 1)})"
            case "all":
                return f"c_all({self.role(depth - 1)},{self.concept(depth - 1)})"
            case "equal":
                return f"c_equal({self.role(depth - 1)},{self.role(depth - 1)})"
        name = self.random.choice(self.unary)
        return f"c_primitive({name},{self.random.randrange(self.arity[name])})"

    def role(self, depth: int) -> str:
        nested = ["and", "inverse", "closure", "restrict"]
        match self.random.choice(["primitive"] if depth == 0 else ["primitive", *nested]):
            case "and":
                return f"r_and({self.role(depth - 1)},{self.role(depth - 1)})"
            case "inverse":
                return f"r_inverse({self.role(depth - 1)})"
            case "closure":
                return f"r_transitive_closure({self.role(depth - 1)})"
            case "restrict":
                return f"r_restrict({self.role(depth - 1)},{self.concept(depth - 1)})"
        name = self.random.choice(self.binary)
        places = self.random.sample(range(self.arity[name]), 2)
        return f"r_primitive({name},{places[0]},{places[1]})"
