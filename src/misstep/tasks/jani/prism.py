"""PRISM models: stormpy translates them to JANI, and from then on they are models like all others.

The translation is kept with a task, so that records can be replayed where stormpy is not installed. Labels
(`label "crash" = ...`) become transient Boolean variables, which conditions can name: `--unsafe crash`. Rewards are
dropped, since nothing here reads them. Commands without an action become silent edges.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path
from typing import Any

from misstep.decoding import parse_json
from misstep.errors import (
    InputFormatError,
    MissingDependencyError,
    ToolError,
    UnsupportedError,
)
from misstep.files import read_bytes, reason
from misstep.kept import start
from misstep.tasks.jani import prism_host
from misstep.tasks.jani.document import parse

SUFFIXES = (".prism", ".nm", ".pm", ".sm")
TYPES = ("dtmc", "mdp", "ctmc", "ma")  # JANI has the last two as well, and its reader refuses them
MAX_BYTES = 16 * 2**20
MEMORY_MB = 4096  # of address space, beside a multiple of the size of the file
COPIES = 100  # of the file that translating it may take: its parts are objects
SECONDS = 60.0


def is_prism(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES


def translate_prism(path: Path) -> bytes:
    """The model as JANI."""
    content = read_bytes(path, MAX_BYTES, "a PRISM model")  # an error of ours if it cannot be read
    if importlib.util.find_spec("stormpy") is None:
        raise _missing(path, "is not installed")
    return translation(_answer(path, len(content)), path)


def translation(answer: bytes, path: Path) -> bytes:
    """The model in the answer of the process, which may be anything: it has read the file of a stranger."""
    first, _, text = answer.partition(b"\n")
    try:
        found = parse_json(first)
    except ValueError:  # native code has written there as well
        found = None
    if not isinstance(found, dict):
        raise _unreadable(path, "it gave an answer that cannot be read")
    if "missing" in found:
        raise _missing(path, f"cannot be loaded: {found['missing']}")
    if "error" in found:
        raise _unreadable(path, str(found["error"]))
    kind = found.get("kind")
    if kind not in TYPES:
        raise UnsupportedError(
            f"PRISM models of type {kind!r:.40} are not supported",
            where=str(path),
            hint="supported are dtmc and mdp",
        )
    document = parse(text, f"the translation of {path}")
    try:
        found = _without_rewards(document, path)
        return json.dumps(found, ensure_ascii=False).encode()
    except (AttributeError, LookupError, TypeError, UnicodeError):
        raise _unreadable(path, "its translation is not JANI") from None


def _answer(path: Path, size: int) -> bytes:
    """stormpy is a large program that we do not answer for: it runs in a process of its own, with limits."""
    memory = MEMORY_MB * 2**20 + COPIES * size
    try:
        program = start(
            prism_host.command(str(path)),
            memory_bytes=memory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        raise ToolError(f"cannot run stormpy: {reason(error)}", where=str(path)) from None
    process = program.process
    try:
        answer, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise _unreadable(path, f"no answer within {SECONDS:g} s") from None
    finally:
        program.end()
    if process.returncode:
        code = process.returncode
        how = f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        raise _unreadable(path, f"its process {how} (memory is limited to {memory >> 20} MB)")
    return answer


def _unreadable(path: Path, why: str) -> InputFormatError:
    return InputFormatError(
        f"stormpy cannot read it: {why[:300]}", where=str(path), expected="a PRISM model"
    )


def _missing(path: Path, why: str) -> MissingDependencyError:
    return MissingDependencyError(
        f"PRISM models are translated by stormpy, which {why[:300]}",
        where=str(path),
        hint="pip install 'misstep[prism]', or translate the model to JANI with Storm's storm-conv",
    )


def _without_rewards(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """Removes rewards of commands, which Storm writes as assignments of edges, unlike JANI."""
    transient = {own["name"] for own in document.get("variables", ()) if own.get("transient")}
    for automaton in document.get("automata", ()):
        for edge in automaton.get("edges", ()):
            written = {own["ref"] for own in edge.pop("assignments", ())}
            if written - transient:
                raise InputFormatError(
                    f"the translation assigns {min(written - transient)} outside of destinations",
                    where=str(path),
                )
    document["name"] = path.stem
    return document


__all__ = ["SUFFIXES", "is_prism", "translate_prism", "translation"]
