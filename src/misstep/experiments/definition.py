"""Read the definition of an experiment and check all of it before anything runs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from misstep.errors import InputFormatError, MisstepError, UsageError
from misstep.experiments.expressions import Condition, ExpressionError, Summary
from misstep.experiments.kinds import KINDS, MISSING, WORLDS, Json, kind, world
from misstep.experiments.lines import TomlPath, TomlText, read_toml
from misstep.experiments.relations import relation
from misstep.experiments.schema import (
    SCALES,
    Key,
    at_scale,
    checked,
    choice,
    expression,
    flag,
    number,
    table,
    text,
    texts,
    whole,
)
from misstep.experiments.sources import NOWHERE, Sources
from misstep.files import read_bytes
from misstep.tasks.parameters import did_you_mean

FOLDER = Path(__file__).parent / "definitions"
MAX_BYTES = 2**20
MAX_UNITS = 50_000  # six times those of our largest experiment
NO_PAPER = "A study of our own."
COMMON = ("row", "seed")  # columns of every observation
_LIST = Key("a list of tables", lambda own: isinstance(own, list), [])
_NAME = re.compile(r"\w[\w .-]{0,79}")  # it becomes a part of names of files
TOP = {
    "name": Key(
        "letters, digits, spaces, dots and hyphens",
        lambda own: isinstance(own, str) and _NAME.fullmatch(own) is not None,
    ),
    "title": text(),
    "paper": text(NO_PAPER),
    "world": choice(*WORLDS),
    "seeds": whole(1),
    "rows": Key("a list of tables", lambda own: isinstance(own, list) and bool(own)),
    "steps": Key("a list of tables", lambda own: isinstance(own, list) and bool(own)),
    "tables": _LIST,
    "figures": _LIST,
    "claims": _LIST,
    "costs": table({}),
}
TABLE = {
    "name": text(),
    "title": text(),
    "step": text(),
    "rows": texts(None, ["row"]),
    "totals": Key("a list of columns", lambda own: isinstance(own, list), ["row"]),
    "column": text(None),
    "cells": table(),
    "where": text(None),
    "baseline": text(),
    "paper": table({}),
    "note": text(None),
    "empty": text(
        None
    ),  # the text for a row from which `where` leaves nothing; without it the row is left out
}
FIGURE = {
    "name": text(),
    "title": text(),
    "step": text(),
    "type": choice("bars", "curves", "growth", "scatter"),
    "where": text(None),
    "series": texts(),
    "bins": text(None),
    "value": text(),
    "value_title": text(None),
    "by": texts(None, ["row", "seed"]),
    "reached": text(None),
    "reached_title": text(None),
    "against": text(None),
    "panels": text(None),
}
CLAIM = {
    "name": text(),
    "text": text(),
    "section": text(None),
    "paper": text(None),
    "step": text(),
    "where": text(None),
    "groups": texts(None, []),
    "among": text(None),
    "holds": text(None),
    "value": text(None),
    "agrees": text(),
    "needs": number(1),
    "sampled": flag(True),
    "why": text(None),
    "shown": table(
        {}
    ),  # names and expressions, told of each group for which the claim does not hold
}


@dataclass(frozen=True)
class Unit:
    """A piece of work of an experiment, named by a digest of everything that its result depends on."""

    key: str
    step: str
    kind: str
    row: str
    seed: int
    label: str
    payload: Json
    work: float

    @property
    def title(self) -> str:
        return f"{self.step}, {self.row}, seed {self.seed}: {self.label}"


@dataclass(frozen=True)
class Definition:
    source: TomlText
    folder: Path | None  # that files are looked for in
    top: Json

    @property
    def name(self) -> str:
        return str(self.top["name"])

    @property
    def title(self) -> str:
        return str(self.top["title"])

    @cached_property
    def steps(self) -> dict[str, Json]:
        return {step["name"]: step for step in self.top["steps"]}

    @cached_property
    def tags(self) -> dict[str, Json]:
        return {row["name"]: row["tags"] for row in self.top["rows"]}

    def columns(self, step: str) -> list[str]:
        tags = dict.fromkeys(tag for own in self.tags.values() for tag in own)
        return [*COMMON, *tags, *kind(self.steps[step]["kind"]).COLUMNS]

    def seeds(self, scale: str) -> int:
        _check_scale(scale)
        return int(at_scale(self.top["seeds"], scale, self.source, ("seeds",)))

    def units(self, scale: str, seeds: int, sources: Sources = NOWHERE) -> list[Unit]:
        """All units at a scale, in the order of the steps; seeds from 0 on."""
        _check_scale(scale)
        rows = self._rows(scale, sources)
        found = []
        for place, step in enumerate(self.top["steps"]):
            settings = self._at(step, scale, ("steps", place))
            module = kind(step["kind"])
            for row in rows:
                if settings["rows"] is not None and row["name"] not in settings["rows"]:
                    continue
                for seed in range(seeds):
                    for part in module.units(settings, row, seed):
                        key = _key(step, row["name"], module.VERSION, part.payload)
                        about = (step["name"], step["kind"], row["name"], seed)
                        found.append(Unit(key, *about, part.label, part.payload, part.work))
                        if len(found) > MAX_UNITS:
                            raise InputFormatError(
                                f"more than {MAX_UNITS:,} units at the scale {scale}",
                                where=self.source.where(("steps", place)),
                                expected="fewer seeds, or more work in each unit",
                            )
        return found

    def _rows(self, scale: str, sources: Sources) -> list[Json]:
        subject = world(self.top["world"]).subject
        rows = []
        for place, row in enumerate(self.top["rows"]):
            own = self._at(row, scale, ("rows", place))
            own["folder"] = None if self.folder is None else str(self.folder)
            own.update(sources.for_row())
            try:
                found = subject(own)
            except MisstepError as error:  # the row says so, the others continue
                found = {MISSING: str(error)}
            rows.append({**own, "subject": found})
        return rows

    def _at(self, own: Json, scale: str, path: TomlPath) -> Json:
        return {
            name: at_scale(value, scale, self.source, (*path, name)) for name, value in own.items()
        }


def _check_scale(scale: str) -> None:
    if scale not in SCALES:
        raise UsageError(f"no scale {scale!r:.40}", expected=", ".join(SCALES))


def _key(step: Json, row: str, version: int, payload: Json) -> str:
    own = json.dumps([step["name"], step["kind"], row, version, payload], sort_keys=True)
    return hashlib.sha256(own.encode()).hexdigest()[:32]


def definition_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_definition(name: str) -> Definition:
    """A definition by the name of a built-in one, or the path of a file that ends in .toml."""
    if name.endswith(".toml"):
        path = Path(name)
        return parse_definition(
            read_toml(path, read_bytes(path, MAX_BYTES, "a definition")), path.resolve().parent
        )
    if name not in definition_names():
        raise UsageError(
            f"no experiment {name!r:.60}",
            expected=f"{', '.join(definition_names())}, or a file that ends in .toml",
            hint=did_you_mean(name, definition_names()),
        )
    content = (FOLDER / f"{name}.toml").read_bytes()
    return parse_definition(TomlText(content.decode("utf-8"), f"{name}.toml"), None)


def parse_definition(source: TomlText, folder: Path | None = None) -> Definition:
    """All of a definition, checked."""
    top = checked(source.tree, TOP, source, (), "the definition")
    row_keys = world(top["world"]).ROW_KEYS
    top["rows"] = _each(top["rows"], row_keys, source, "rows", "[[rows]]")
    top["steps"] = _steps(top["steps"], top, source)
    found = Definition(source, folder, top)
    for section, keys in (("tables", TABLE), ("figures", FIGURE), ("claims", CLAIM)):
        top[section] = _each(top[section], keys, source, section, f"[[{section}]]")
        for place, own in enumerate(top[section]):
            path: TomlPath = (section, place)
            _known(own["step"], found.steps, "step", source, (*path, "step"))
            _CHECKS[section](own, found.columns(own["step"]), source, path)
    _check_costs(top["costs"], found, source)
    return found


def _check_costs(costs: Json, found: Definition, source: TomlText) -> None:
    """Seconds for one piece of work, by scale, step and row."""
    checked(costs, dict.fromkeys(costs, table()), source, ("costs",), "[costs]")
    for scale, steps in costs.items():
        _known(scale, SCALES, "scale", source, ("costs", scale))
        checked(steps, dict.fromkeys(steps, table()), source, ("costs", scale), f"[costs.{scale}]")
        for step, rows in steps.items():
            path = ("costs", scale, step)
            _known(step, found.steps, "step", source, path)
            keys = dict.fromkeys(rows, number(by_scale=False))
            checked(rows, keys, source, path, f"[costs.{scale}.{step}]")


def _each(
    items: Sequence[Any], keys: Mapping[str, Key], source: TomlText, section: str, what: str
) -> list[Json]:
    found = [checked(own, keys, source, (section, k), what) for k, own in enumerate(items)]
    names: set[str] = set()
    for place, own in enumerate(found):
        if own["name"] in names:
            where = source.where((section, place, "name"))
            raise InputFormatError(f"two {section} are called {own['name']!r:.60}", where=where)
        names.add(own["name"])
    return found


def _steps(items: Sequence[Any], top: Json, source: TomlText) -> list[Json]:
    found = []
    names = [row["name"] for row in top["rows"]]
    for place, own in enumerate(items):
        path: TomlPath = ("steps", place)
        name = own.get("kind") if isinstance(own, dict) else None
        if name is not None:
            _known(name, KINDS, "kind of step", source, (*path, "kind"))
        keys = {
            "name": text(),
            "kind": choice(*KINDS),
            "rows": texts(names, None),
            **(kind(name).KEYS if name is not None else {}),
        }
        step = checked(own, keys, source, path, "[[steps]]")
        if top["world"] != kind(step["kind"]).WORLD:
            raise InputFormatError(
                f"a step {step['kind']} is about {kind(step['kind']).WORLD}, the rows are {top['world']}",
                where=source.where((*path, "kind")),
            )
        found.append(step)
    anything = {name: Key("", lambda _: True, None) for own in found for name in own}
    _each(found, anything, source, "steps", "[[steps]]")  # no two of one name
    return found


def _known(name: Any, known: Any, what: str, source: TomlText, path: TomlPath) -> None:
    if not isinstance(name, str) or name not in known:
        raise InputFormatError(
            f"there is no {what} {str(name)[:60]!r}",
            where=source.where(path),
            expected=", ".join(known),
            hint=did_you_mean(str(name), list(known)),
        )


def _check_table(own: Json, columns: list[str], source: TomlText, path: TomlPath) -> None:
    _columns([*own["rows"], *own["totals"], own["column"]], columns, source, path)
    _expressions(own, {"where": Condition}, columns, source, path)
    for title, cell in own["cells"].items():
        expression(Summary, cell, columns, source, (*path, "cells", title))


def _check_figure(own: Json, columns: list[str], source: TomlText, path: TomlPath) -> None:
    _columns([*own["series"], *own["by"], own["bins"], own["panels"]], columns, source, path)
    _expressions(own, {"where": Condition, "reached": Condition}, columns, source, path)
    over_time = own["type"] in ("curves", "growth")
    kind_of_value = Condition if over_time else Summary
    expression(kind_of_value, own["value"], columns, source, (*path, "value"))
    needed = "reached" if over_time else {"bars": "bins", "scatter": "against"}[own["type"]]
    if own[needed] is None:
        raise InputFormatError(
            f"a figure of the type {own['type']} has no {needed}", where=source.where(path)
        )


def _check_claim(own: Json, columns: list[str], source: TomlText, path: TomlPath) -> None:
    _columns(own["groups"], columns, source, path)
    kinds: dict[str, type[Condition] | type[Summary]] = {
        "where": Condition,
        "among": Summary,
        "holds": Summary,
        "value": Summary,
    }
    _expressions(own, kinds, columns, source, path)
    for name, shown in own["shown"].items():
        expression(Summary, shown, columns, source, (*path, "shown", name))
    if (own["holds"] is None) == (own["value"] is None):
        raise InputFormatError(
            f"the claim {own['name']} needs one of holds and value", where=source.where(path)
        )
    if own["holds"] is not None and not own["groups"]:
        raise InputFormatError(
            "what holds, holds for groups", where=source.where(path), expected="groups: columns"
        )
    try:
        relation(own["agrees"])
    except ExpressionError as error:
        raise InputFormatError(
            f"agrees is {own['agrees']!r:.60}: {error}", where=source.where((*path, "agrees"))
        ) from error


_CHECKS = {"tables": _check_table, "figures": _check_figure, "claims": _check_claim}


def _columns(names: list[str | None], columns: list[str], source: TomlText, path: TomlPath) -> None:
    for name in names:
        if name is not None:
            _known(name, columns, "column", source, path)


def _expressions(
    own: Json, kinds: Mapping[str, type[Condition] | type[Summary]], columns: list[str],
    source: TomlText, path: TomlPath,
) -> None:  # fmt: skip
    for name, made in kinds.items():
        if own[name] is not None:
            expression(made, own[name], columns, source, (*path, name))


__all__ = ["Definition", "Unit", "definition_names", "load_definition", "parse_definition"]
