"""The policy tree: every model that training made, and which one it was trained from.

It is stored as JSON and drawn as text. Models are numbered in the order of their making; a root has random weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from misstep.binomial import percent
from misstep.errors import InputFormatError
from misstep.training.score import Parts, scores
from misstep.training.stored import check_form, damaged
from misstep.training.testing import TaskResult, summarise


@dataclass(frozen=True)
class Node:
    """A model. Loss and success are those of the epoch that made it; a root has no loss."""

    id: int
    parent: int | None
    epochs: int  # from its root
    seed: int  # of its weights, or of its epoch
    loss: float | None
    success: float  # share of the training tasks that it solves
    samples: int  # in the data when it was made
    digest: str  # of its file
    results: tuple[TaskResult, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict, compare=False)

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "parent": self.parent,
            "epochs": self.epochs,
            "seed": self.seed,
            "loss": self.loss,
            "success": self.success,
            "samples": self.samples,
            "digest": self.digest,
            "test": summarise(self.results) if self.results else None,
            "results": [result.as_dict() for result in self.results],
            "seconds": self.seconds,
        }

    @staticmethod
    def from_dict(values: dict[str, Any], where: str) -> Node:
        with damaged(where):
            kept = {name: own for name, own in values.items() if name not in ("test", "results")}
            check_form(kept, _NODE, "a model")
            kept["results"] = tuple(_result(result) for result in values["results"])
            node = Node(**kept)
            if not 0 <= node.success <= 1 or min(node.epochs, node.samples, node.seed) < 0:
                raise ValueError("a number is out of its range")
            if any(type(own) not in (int, float) for own in node.seconds.values()):
                raise ValueError("seconds are not numbers")
            return node


def _result(values: dict[str, Any]) -> TaskResult:
    check_form(values, _RESULT, "a test")
    result = TaskResult(**values)
    counts = (result.pool, result.processed, result.solved, result.bugs, result.lost, result.steps)
    if min(counts) < 0 or max(result.solved, result.bugs) > result.processed:
        raise ValueError("the counts of a test do not fit together")
    return result


_NODE = Node(0, 0, 0, 0, 0.0, 0.0, 0, "")
_RESULT = TaskResult("", 0, False)


@dataclass
class PolicyTree:
    nodes: list[Node] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __getitem__(self, id: int) -> Node:
        return self.nodes[id]

    def add(self, node: Node) -> None:
        if node.id != len(self.nodes) or not (node.parent is None or 0 <= node.parent < node.id):
            raise InputFormatError(f"model {node.id} is out of order", where="policy tree")
        self.nodes.append(node)

    def expansions(self) -> list[int]:
        """The number of successors of each model."""
        counts = [0] * len(self.nodes)
        for node in self.nodes:
            if node.parent is not None:
                counts[node.parent] += 1
        return counts

    def children(self, id: int) -> list[Node]:
        return [node for node in self.nodes if node.parent == id]

    def parts(self) -> list[Parts]:
        return [Parts.of(node.results) for node in self.nodes]

    def scores(self) -> list[Fraction]:
        return scores(self.parts())

    def as_dict(self) -> dict[str, Any]:
        return {
            "models": [
                {
                    "id": node.id,
                    "parent": node.parent,
                    "epochs": node.epochs,
                    "loss": node.loss,
                    "success": node.success,
                    "test": summarise(node.results) if node.results else None,
                    "score": round(float(score), 6),
                }
                for node, score in zip(self.nodes, self.scores(), strict=True)
            ]
        }

    def draw(self, chosen: int | None = None) -> str:
        """The tree as text. A model with one successor is followed by it; branches are indented."""
        values = [float(score) for score in self.scores()]
        lines: list[str] = []

        def label(node: Node) -> str:
            text = f"{node.id}"
            text += f"  loss {node.loss:.3f}" if node.loss is not None else "  random weights"
            text += f"  train {percent(node.success)}%"
            if node.results:
                test = summarise(node.results)
                shared = max(1, test["processed"])
                text += f"  val {test['coverage']}/{test['tasks']}"
                text += f"  states {percent(test['solved'] / shared)}%  bugs {percent(test['bugs'] / shared)}%"
                text += f"  score {values[node.id]:.3f}"
            return text + ("  <- chosen" if node.id == chosen else "")

        def draw(node: Node, first: str, rest: str) -> None:
            # Not recursive along a line of single successors, which may be long.
            while True:
                lines.append(first + label(node))
                children = self.children(node.id)
                if len(children) != 1:
                    break
                node, first = children[0], rest
            for i, child in enumerate(children):
                last = i == len(children) - 1
                draw(child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))

        for root in self.nodes:
            if root.parent is None:
                draw(root, "", "")
        return "\n".join(lines)


__all__ = ["Node", "PolicyTree"]
