"""What the shell completes besides verbs and options: policies, oracles, presets, biases, campaigns and records.

A parameter is known by its name, which means the same in every command. This module is loaded while a shell completes,
and at no other time. Bash takes a colon for the end of a word; `joined_at_colons` undoes that.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, MutableMapping
from contextlib import closing
from pathlib import Path
from typing import Any

MOST_RECORDS = 1000
_DATABASE = "run.db"
# The command so far, the parameter and the beginning of its value -> values that begin so.
Completer = Callable[[Any, Any, str], list[str]]


def policies() -> list[str]:
    from misstep.policies.labels.load import BUILTIN as LABEL_POLICIES
    from misstep.policies.load import BUILTIN, third_party
    from misstep.policies.shipped import shipped_names

    kinds = [kind.spec for kind in (*BUILTIN.values(), *LABEL_POLICIES.values())]
    shipped = [f"shipped:{name}" for kind in ("asnets", "safety") for name in shipped_names(kind)]
    return [*map(_beginning, kinds), *(f"{name}:" for name in third_party()), *shipped]


def oracles() -> list[str]:
    from misstep.cli.listing import DECIDERS
    from misstep.oracles.presets import PRESETS
    from misstep.oracles.registry import BUILTIN

    return [*(_beginning(kind.spec) for kind in BUILTIN.values()), *PRESETS, *DECIDERS]


def presets() -> list[str]:
    from misstep.fuzzing.settings import PRESETS

    return list(PRESETS)


def biases() -> list[str]:
    from misstep.cli.listing import MODEL_FUZZERS
    from misstep.fuzzing.settings import BIASES

    return [*(name for names in BIASES.values() for name in names), *MODEL_FUZZERS]


def _named(names: Callable[[], list[str]]) -> Completer:
    return lambda _context, _parameter, begun: _beginning_with(begun, names())


def _campaigns(_context: Any, _parameter: Any, begun: str) -> list[str]:
    """Folders that are campaigns, and folders with campaigns in them, which have a slash at their end."""
    above = begun[: begun.rfind("/") + 1]
    try:
        folders = sorted(path for path in Path(above or ".").iterdir() if path.is_dir())
    except OSError:
        return []
    found = []
    for folder in folders:
        if (folder / _DATABASE).is_file():
            found.append(above + folder.name)
        elif any(folder.glob(f"*/{_DATABASE}")):
            found.append(f"{above}{folder.name}/")
    return _beginning_with(begun, found)


def _records(context: Any, _parameter: Any, begun: str) -> list[str]:
    """The ids of the bugs of the campaign that is named before, or of all its states if it has no bugs."""
    database = Path(context.params.get("folder") or ".") / _DATABASE
    if not database.is_file():
        return []
    rows = "SELECT DISTINCT tasks.name, {0}.number FROM {0} JOIN tasks ON tasks.id = {0}.task"
    ordered = f" ORDER BY tasks.id, number LIMIT {MOST_RECORDS}"
    bugs = rows.format("verdicts") + " WHERE verdict = 'BUG'" + ordered
    try:
        with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as opened:
            states = rows.format("states") + ordered
            found = opened.execute(bugs).fetchall() or opened.execute(states).fetchall()
    except sqlite3.Error:
        return []
    return _beginning_with(begun, [f"{task}:{number}" for task, number in found])


COMPLETERS: dict[str, Completer] = {
    "policy": _named(policies),
    "policies": _named(policies),
    "oracle": _named(oracles),
    "preset": _named(presets),
    "fuzz": _named(biases),
    "folder": _campaigns,
    "folders": _campaigns,
    "pool_from": _campaigns,
    "from_bugs": _campaigns,
    "bug": _records,
    "bugs": _records,
}


def attach(parameters: Iterable[Any], known: str = "") -> None:
    """Let these parameters of a command be completed; `known` is what the shell does not want to be told again."""

    def shortened(completer: Completer) -> Completer:
        return lambda *given: [
            value.removeprefix(known) for value in completer(*given) if value != known
        ]

    for parameter in parameters:
        completer = COMPLETERS.get(parameter.name)
        names_a_folder = parameter.name == "policies" and parameter.metavar == "DIR"
        if completer is not None and not names_a_folder:
            parameter._custom_shell_complete = shortened(completer)


def joined_at_colons(environment: MutableMapping[str, str]) -> str:
    """Join the words that bash has split at colons; returns the part of the last one that bash keeps to itself."""
    words = environment.get("COMP_WORDS", "").split(" ")
    last = int(environment.get("COMP_CWORD", "0"))
    words = (words + [""] * (last + 1 - len(words)))[: last + 1]
    joined: list[str] = []
    for number, word in enumerate(words):
        if number > 1 and ":" in (word, words[number - 1]):
            joined[-1] += word
        else:
            joined.append(word)
    environment["COMP_WORDS"] = " ".join(joined)
    environment["COMP_CWORD"] = str(len(joined) - 1)
    return joined[-1][: joined[-1].rfind(":") + 1] if len(joined) < len(words) else ""


def _beginning(spec: str) -> str:
    """The part of a spec that is typed as it is: what comes before a word in capitals, a bracket or an option."""
    end = next((at for at, sign in enumerate(spec) if sign.isupper() or sign in "(-"), len(spec))
    return spec[:end]


def _beginning_with(begun: str, names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(begun)]


__all__ = ["COMPLETERS", "attach", "joined_at_colons"]
