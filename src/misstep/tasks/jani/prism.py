"""PRISM models: stormpy translates them to JANI, and from then on they are models like all others.

The translation is kept with a task, so that records can be replayed where stormpy is not installed. Labels
(`label "crash" = ...`) become transient Boolean variables, which conditions can name: `--unsafe crash`. Rewards are
dropped, since nothing here reads them. Commands without an action become silent edges.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from misstep.errors import InputFormatError, MissingDependencyError, UnsupportedError
from misstep.files import read_bytes

SUFFIXES = (".prism", ".nm", ".pm", ".sm")
TYPES = ("dtmc", "mdp", "ctmc", "ma")  # JANI has the last two as well, and its reader refuses them
MAX_BYTES = 16 * 2**20


def is_prism(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES


def translate_prism(path: Path) -> bytes:
    """The model as JANI."""
    read_bytes(path, MAX_BYTES, "a PRISM model")  # an error of ours if it cannot be read
    try:
        import stormpy
    except ImportError:
        raise MissingDependencyError(
            "PRISM models are translated by stormpy, which is not installed",
            where=str(path),
            hint="pip install 'misstep[prism]', or translate the model to JANI with Storm's storm-conv",
        ) from None
    try:
        # Simplifying would drop variables that a policy may look at.
        program = stormpy.parse_prism_program(str(path), prism_compatibility=True, simplify=False)
        kind = program.model_type.name.lower()
        if kind not in TYPES:
            raise UnsupportedError(
                f"PRISM models of type {kind!r} are not supported",
                where=str(path),
                hint="supported are dtmc and mdp",
            )
        translated, _ = program.to_jani([])
        document = json.loads(str(translated))
    except (RuntimeError, ValueError) as error:
        told = str(error).strip() or type(error).__name__
        raise InputFormatError(
            f"stormpy cannot read it: {told.splitlines()[0][:300]}",
            where=str(path),
            expected="a PRISM model",
        ) from None
    return json.dumps(_without_rewards(document, path), ensure_ascii=False).encode()


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


__all__ = ["SUFFIXES", "is_prism", "translate_prism"]
