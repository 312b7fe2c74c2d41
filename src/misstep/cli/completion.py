"""What the shell completes besides verbs and options: policies, oracles, presets, biases, campaigns, records and more.

A parameter is known by its name, which means the same in every command, or by a metavar such as `stop|avoid` that
names its values. This module is loaded while a shell completes, and at no other time. Bash takes a colon for the end of
a word; `joined_at_colons` undoes that.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, MutableMapping
from contextlib import closing
from pathlib import Path
from typing import Any

from misstep.errors import MisstepError

MOST_RECORDS = 1000
_DATABASE = "run.db"
_EXPERIMENT = "experiment.db"
_WORD = re.compile(r"[a-z][a-z0-9_*-]*")
_PLAIN = re.compile(r"(?!-)[\w@%+=:,./-]+")  # no option, and nothing that a shell evaluates
# The command so far, the parameter and the beginning of its value -> values that begin so.
Completer = Callable[[Any, Any, str], list[str]]


def policies() -> list[str]:
    """Kinds, and whole specs where all names of a kind are known."""
    from misstep.planning import HEURISTICS
    from misstep.policies.load import third_party
    from misstep.policies.shipped import shipped_names
    from misstep.policies.zoo.index import entries

    heuristics = [f"heuristic:{name}" for name in HEURISTICS]
    shipped = [f"shipped:{name}" for kind in ("asnets", "safety") for name in shipped_names(kind)]
    zoo = [f"zoo:{name}" for name in entries()]
    kinds = map(_beginning, _policy_kinds())
    return [*kinds, *(f"{name}:" for name in third_party()), *heuristics, *shipped, *zoo]


def _policy_kinds() -> list[str]:
    from misstep.policies.labels.load import BUILTIN as LABEL_POLICIES
    from misstep.policies.load import BUILTIN

    return [kind.spec for kind in (*BUILTIN.values(), *LABEL_POLICIES.values())]


def _policies(_context: Any, _parameter: Any, begun: str) -> list[str]:
    """Specs; files after the colon of a kind that takes one; after a plus, the policy that is inside of another one."""
    kind, colon, argument = begun.partition(":")
    outer, plus, inner = begun.rpartition("+")
    if plus and kind in ("shield", "noisy"):
        return [f"{outer}+{spec}" for spec in _policies(_context, _parameter, inner)]
    takes_file = any(spec.startswith(f"{kind}:FILE") for spec in _policy_kinds())
    if colon and takes_file:
        return [f"{kind}:{path}" for path in _files(argument)]
    return _beginning_with(begun, policies())


def _files(begun: str) -> list[str]:
    """Files, and folders with a slash at their end."""
    above = begun[: begun.rfind("/") + 1]
    try:
        found = sorted(Path(above or ".").iterdir())
    except OSError:
        return []
    hidden = begun[len(above) :].startswith(".")
    names = [
        f"{above}{path.name}{'/' if path.is_dir() else ''}"
        for path in found
        if hidden or not path.name.startswith(".")
    ]
    return _found(begun, names)


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


def searches() -> list[str]:
    from misstep.planning import SEARCHES

    return list(SEARCHES)


def dead_ends() -> list[str]:
    from misstep.fuzzing.settings import DEAD_ENDS

    return list(DEAD_ENDS)


def verdicts() -> list[str]:
    from misstep.campaigns.records import VERDICTS
    from misstep.cli.records import UNSOLVABLE

    return [*VERDICTS, UNSOLVABLE]


def kinds() -> list[str]:
    from misstep.campaigns.records import KINDS

    return list(KINDS)


def experiments() -> list[str]:
    from misstep.cli.experiment import REPORT
    from misstep.experiments.definition import definition_names

    return [*definition_names(), REPORT]


def _named(names: Callable[[], list[str]]) -> Completer:
    return lambda _context, _parameter, begun: _beginning_with(begun, names())


def _experiment(_context: Any, _parameter: Any, begun: str) -> list[str]:
    """Names of experiments, and files that define one."""
    ends = (".toml", "/") if "/" in begun else (".toml",)
    own = [path for path in _files(begun) if path.endswith(ends)]
    return [*_beginning_with(begun, experiments()), *own]


def _folders(context: Any, parameter: Any, begun: str) -> list[str]:
    """Campaigns, but of `misstep experiment report` experiments."""
    if context.info_name == "experiment":
        return _folders_with(_EXPERIMENT, begun)
    return _campaigns(context, parameter, begun)


def _campaigns(_context: Any, _parameter: Any, begun: str) -> list[str]:
    return _folders_with(_DATABASE, begun)


def _campaigns_or_files(_context: Any, _parameter: Any, begun: str) -> list[str]:
    return list(dict.fromkeys([*_folders_with(_DATABASE, begun), *_files(begun)]))


def _folders_with(database: str, begun: str) -> list[str]:
    """Folders that have a database in them, and folders with such folders, which have a slash at their end."""
    above = begun[: begun.rfind("/") + 1]
    try:
        folders = sorted(path for path in Path(above or ".").iterdir() if path.is_dir())
    except OSError:
        return []
    found = []
    for folder in folders:
        if (folder / database).is_file():
            found.append(above + folder.name)
        elif any(folder.glob(f"*/{database}")):
            found.append(f"{above}{folder.name}/")
    return _found(begun, found)


def _records(context: Any, _parameter: Any, begun: str) -> list[str]:
    """The ids of the bugs of the campaign that is named before, or of all its states if it has no bugs."""
    rows = "SELECT DISTINCT tasks.name, {0}.number FROM {0} JOIN tasks ON tasks.id = {0}.task"
    ordered = f" ORDER BY tasks.id, number LIMIT {MOST_RECORDS}"
    bugs = rows.format("verdicts") + " WHERE verdict = 'BUG'" + ordered
    found = _asked(context, bugs) or _asked(context, rows.format("states") + ordered)
    return _found(begun, [f"{task}:{number}" for task, number in found])


def _tasks(context: Any, _parameter: Any, begun: str) -> list[str]:
    """The tasks of the campaign that is named before."""
    return _found(begun, [str(name) for (name,) in _asked(context, "SELECT name FROM tasks")])


def _asked(context: Any, query: str) -> list[Any]:
    """What the database says of the campaign that is named before; nothing, if it cannot be read."""
    # After an option that waits for its value, arguments are not read yet.
    folder = context.params.get("folder") or next(iter(context.args), ".")
    database = Path(folder) / _DATABASE
    if not database.is_file():
        return []
    from misstep.campaigns.create import refuse_links
    from misstep.campaigns.database import connect
    from misstep.campaigns.schema import check_schema

    try:
        refuse_links(Path(folder), only_read=True)
        with closing(connect(database, "ro")) as opened:
            check_schema(opened, str(database))
            return opened.execute(query).fetchall()
    except (sqlite3.Error, UnicodeDecodeError, OSError, MisstepError):
        return []


COMPLETERS: dict[str, Completer] = {
    "policy": _policies,
    "policies": _policies,
    "oracle": _named(oracles),
    "preset": _named(presets),
    "fuzz": _named(biases),
    "search": _named(searches),
    "dead_ends": _named(dead_ends),
    "verdict": _named(verdicts),
    "kind": _named(kinds),
    "folder": _folders,
    "folders": _campaigns,
    "given": _campaigns,
    "source": _campaigns_or_files,
    "baseline": _campaigns_or_files,
    "pool_from": _campaigns,
    "from_bugs": _campaigns,
    "bug": _records,
    "bugs": _records,
}
# By what stands for the value in the help, where a name alone does not tell.
BY_METAVAR: dict[tuple[str, str], Completer] = {
    ("name", "NAME|FILE.toml|report"): _experiment,
    ("task", "NAME"): _tasks,
}


def attach(parameters: Iterable[Any], known: str = "") -> None:
    """Let these parameters of a command be completed; `known` is what the shell does not want to be told again."""

    def shortened(completer: Completer) -> Completer:
        return lambda *given: [
            value.removeprefix(known) for value in completer(*given) if value != known
        ]

    for parameter in parameters:
        completer = _completer(parameter.name, parameter.metavar or "")
        if completer is not None:
            parameter._custom_shell_complete = shortened(completer)


def _completer(name: str, metavar: str) -> Completer | None:
    if (name, metavar) in BY_METAVAR:
        return BY_METAVAR[name, metavar]
    if name in COMPLETERS:
        names_a_folder = name == "policies" and metavar == "DIR"
        return None if names_a_folder else COMPLETERS[name]
    values = [value for value in metavar.split("|") if _WORD.fullmatch(value)]
    return _named(lambda: values) if "|" in metavar and values else None


def joined_at_colons(environment: MutableMapping[str, str]) -> str:
    """Join the words that bash has split at colons; returns the part of the last one that bash keeps to itself."""
    told = environment.get("COMP_WORDS", "")
    between = (
        "\n" if "\n" in told else " "
    )  # the script that typer installs puts each word on a line of its own
    words = told.split(between)
    last = int(environment.get("COMP_CWORD", "0"))
    words = (words + [""] * (last + 1 - len(words)))[: last + 1]
    joined: list[str] = []
    for number, word in enumerate(words):
        if number > 1 and ":" in (word, words[number - 1]):
            joined[-1] += word
        else:
            joined.append(word)
    environment["COMP_WORDS"] = between.join(joined)
    environment["COMP_CWORD"] = str(len(joined) - 1)
    return joined[-1][: joined[-1].rfind(":") + 1] if len(joined) < len(words) else ""


def without_space(script: str) -> str:
    """The script for bash, changed so that a word which is not complete yet is not ended by a space."""
    unfinished = "[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[:/+] ]] && compopt -o nospace"
    return script.replace("    return 0\n", f"    {unfinished}\n    return 0\n", 1)


def _beginning(spec: str) -> str:
    """The part of a spec that is typed as it is: what comes before a word in capitals, a bracket or an option."""
    end = next((at for at, sign in enumerate(spec) if sign.isupper() or sign in "(-"), len(spec))
    return spec[:end]


def _found(begun: str, names: Iterable[str]) -> list[str]:
    """Names that files and campaigns have, which may be those of a stranger.

    Shells put them into the command line as they are, and zsh even evaluates them, so that `$(...)` would be run. Only
    names that no shell takes for anything else are given.
    """
    return [name for name in _beginning_with(begun, names) if _PLAIN.fullmatch(name)]


def _beginning_with(begun: str, names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(begun)]


__all__ = ["COMPLETERS", "attach", "joined_at_colons", "without_space"]
