"""`shield:FILE+SPEC`: any policy behind an exported shield, a blacklist or the table of an oracle shield."""

from __future__ import annotations

import hashlib
from pathlib import Path

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, MisstepError, UsageError
from misstep.files import read_bytes
from misstep.policies.labels.load import load_label_policy
from misstep.policies.labels.policy import LabelPolicy, Setting, digest_of
from misstep.safety.jani import jani_transitions
from misstep.safety.shield import Blacklist, ShieldTable
from misstep.safety.system import System
from misstep.tasks.jani.task import State

MAX_BYTES = 1024 * 2**20


def load(argument: str, setting: Setting) -> LabelPolicy:
    file, spec = _split(argument)
    content = read_bytes(Path(file), MAX_BYTES, "a shield")
    shield = _read(content, file)
    inner = load_label_policy(
        spec, setting.task, engine=setting.engine, inapplicable=setting.inapplicable
    )
    try:
        shielded = shield.shield(
            System(jani_transitions(setting.task, setting.engine), inner.policy)
        ).policy
    except MisstepError as error:
        inner.close()
        raise InputFormatError(
            f"the shield does not fit the model: {error}", where=file, expected="one for this model"
        ) from None
    assert shielded is not None
    digest = digest_of("shield", hashlib.sha256(content).hexdigest(), inner.digest)
    bound = setting.bind(
        shielded,
        digest,
        inapplicable=inner.inapplicable,
        end=inner.close,
        native=inner.native,
        deterministic=inner.deterministic,
    )
    bound.files = (file, *inner.files)
    return bound


def _split(argument: str) -> tuple[str, str]:
    """A plus may also be part of the file's name; the first one that follows an existing file counts."""
    places = [i for i, letter in enumerate(argument) if letter == "+"]
    parts = [
        (argument[:i], argument[i + 1 :]) for i in places if argument[:i] and argument[i + 1 :]
    ]
    if not parts:
        raise UsageError(
            "the policy is incomplete",
            where=f"policy shield:{argument}",
            expected="shield:FILE+SPEC",
        )
    return next((part for part in parts if Path(part[0]).is_file()), parts[0])


def _read(content: bytes, where: str) -> Blacklist[State, str] | ShieldTable[State, str]:
    try:
        text = content.decode()
        document = parse_json(text)
        kind = document.get("kind") if isinstance(document, dict) else None
        return ShieldTable.from_json(text) if kind == "oracle" else Blacklist.from_json(text)
    except (ValueError, KeyError, RecursionError) as error:
        raise InputFormatError(
            f"cannot read the shield: {type(error).__name__}: {str(error)[:80]}",
            where=where,
            expected="a blacklist or the table of an oracle shield, as JSON",
        ) from None
    except InputFormatError as error:
        raise InputFormatError(error.what, where=where, expected=error.expected) from None


__all__ = ["load"]
