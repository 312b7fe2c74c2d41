"""The policies of the zoo: what each is, which task it is for, and which bugs it is known to have.

The table is `index.json`, beside the files that it names. The numbers of bugs are exact. For a planning task they count
all reachable states that are not goals, each judged by an exhaustive search; `tests/policies/test_zoo.py` counts them
again. For a model they are the starts of unsafe runs that the card of the network lists.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from misstep.errors import UsageError
from misstep.tasks.domains import DOMAINS
from misstep.tasks.generate import generate
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import load_task
from misstep.tasks.parameters import did_you_mean
from misstep.tasks.task import Task

ZOO = Path(__file__).parent
_FILE = re.compile(r"\{zoo\}/([\w.-]+)")


@dataclass(frozen=True)
class Entry:
    """A policy of the zoo."""

    name: str
    spec: str  # {zoo} stands for the folder of the zoo, {python} for the running interpreter
    generator: str  # makes the task or the model that it is for
    sizes: Mapping[str, int | str | bool]
    seed: int
    summary: str  # what it does and what is wrong with it, in one sentence
    states: int  # states over which the bugs were counted
    bugs: Mapping[str, int]  # how many of each kind
    extra: str | None  # the extra of Misstep that it needs

    @property
    def family(self) -> str:
        return self.spec.partition(":")[0]

    @property
    def of_model(self) -> bool:
        return self.generator not in DOMAINS

    @property
    def files(self) -> list[Path]:
        """Its files in the zoo; empty for a network that is shipped elsewhere."""
        found = _FILE.search(self.spec)
        if found is None:
            return []
        file = ZOO / found.group(1)
        return [file, file.with_suffix(".json")] if self.family == "rgnn" else [file]

    @property
    def installed(self) -> str:
        """The spec that loads the policy on this machine."""
        if self.family == "exec":
            # A command is split into words as a shell would do it.
            python, folder = shlex.quote(sys.executable), shlex.quote(str(ZOO))
        else:
            python, folder = sys.executable, str(ZOO)
        return self.spec.replace("{python}", python).replace("{zoo}", folder)

    @property
    def command(self) -> str:
        """The command that generates its task or model."""
        words = ["misstep generate", self.generator]
        for name, size in self.sizes.items():
            option = "--" + name.replace("_", "-")
            words.append(option if size is True else f"{option} {size}")
        return " ".join(words if self.of_model else [*words, f"--seed {self.seed}"])

    def task(self) -> Task | JaniTask:
        """The task or model that it is for."""
        return load_task(generate(self.generator, seed=self.seed, **self.sizes))

    def as_dict(self) -> dict[str, Any]:
        return {
            "policy": f"zoo:{self.name}",
            "family": self.family,
            "spec": self.spec,
            "generator": self.generator,
            "sizes": dict(self.sizes),
            "seed": self.seed,
            "command": self.command,
            "summary": self.summary,
            "states": self.states,
            "bugs": dict(self.bugs),
            "extra": self.extra,
        }


@cache
def entries() -> Mapping[str, Entry]:
    """All policies of the zoo, by name."""
    table = json.loads((ZOO / "index.json").read_text(encoding="utf-8"))
    return MappingProxyType({name: _entry(name, row) for name, row in table.items()})


def _entry(name: str, row: dict[str, Any]) -> Entry:
    return Entry(
        name,
        row["spec"],
        row["generator"],
        MappingProxyType(row["sizes"]),
        row.get("seed", 0),
        row["summary"],
        row["states"],
        MappingProxyType(row["bugs"]),
        row.get("extra"),
    )


def entry(name: str) -> Entry:
    """The policy of that name."""
    known = entries()
    if name not in known:
        raise UsageError(
            f"the zoo has no policy {name!r:.60}",
            where=f"policy zoo:{name:.60}",
            expected="one that misstep list --zoo names",
            hint=did_you_mean(name, known),
        )
    return known[name]


__all__ = ["ZOO", "Entry", "entries", "entry"]
