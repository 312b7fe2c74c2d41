"""`shield:FILE+SPEC`: any policy behind a shield from a file: a blacklist, an oracle shield or the table of one.

`shield:FILE` takes the policy that the file names. The file may come from a stranger, so it can name plain policies
only, such that run nothing but our own code; another one has to be named by the user. Files of that policy are
looked for as they are named, then beside the shield.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, MisstepError, UsageError
from misstep.files import is_there, read_bytes
from misstep.policies.kinds import check_inside
from misstep.policies.labels.load import load_label_policy
from misstep.policies.labels.policy import LabelPolicy, Setting, digest_of
from misstep.policies.trust import is_plain
from misstep.safety.jani import jani_transitions
from misstep.safety.shield import DECIDER, Blacklist, DeciderShield, ShieldTable
from misstep.safety.system import System
from misstep.tasks.jani.task import State

MAX_BYTES = 1024 * 2**20
AnyShield = Blacklist[State, str] | ShieldTable[State, str] | DeciderShield


def load(argument: str, setting: Setting) -> LabelPolicy:
    file, given = _split(argument)
    content = read_bytes(Path(file), MAX_BYTES, "a shield")
    shield = _read(content, file)
    _check_model(shield, setting, file)
    spec = given or _named(shield, file)
    inner = load_label_policy(
        spec, setting.task, engine=setting.engine, inapplicable=setting.inapplicable
    )
    try:
        system = System(
            jani_transitions(setting.task, setting.engine),
            inner.policy,
            inapplicable=inner.inapplicable,
        )
        shielded = shield.shield(system).policy
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
        # A decider remembers. What its evaluations leave open may be decided when it is asked later, so that the
        # answers are no function of the state by construction, and have to be asked for again.
        native=inner.native and not isinstance(shield, DeciderShield),
        deterministic=inner.deterministic,
    )
    bound.files = (file, *inner.files)
    return bound


def _check_model(shield: AnyShield, setting: Setting, where: str) -> None:
    """What is safe in one model says nothing about another."""
    digest = None if isinstance(shield, Blacklist) else shield.task
    if digest is not None and digest != setting.task.digest:
        name = shield.model if isinstance(shield, DeciderShield) else "another model"
        raise UsageError(
            f"the shield was made for {name}, with another content, property or constants",
            where=where,
            expected=f"a shield for {setting.task.name}",
            hint="misstep shield MODEL --policy SPEC -o FILE makes one",
        )


def _named(shield: AnyShield, where: str) -> str:
    """The policy that the file names, if it may."""
    spec = None if isinstance(shield, Blacklist) else shield.policy
    if spec is None:
        raise UsageError(
            "the shield does not say which policy is behind it",
            where=where,
            expected="shield:FILE+SPEC",
        )
    kind = spec.partition(":")[0]
    if kind == "shield" or not is_plain(spec, of_model=True):
        raise UsageError(
            f"the shield names the policy {spec!r:.200}, which would run code or is a shield itself",
            where=where,
            hint="if you trust it, name it yourself: shield:FILE+SPEC",
        )
    beside = Path(where).parent / spec
    if ":" not in spec and not is_there(Path(spec)) and is_there(beside):
        return str(beside)
    return spec


def _split(argument: str) -> tuple[str, str | None]:
    """A plus may also be part of the file's name; the first one that follows an existing file counts."""
    if not argument.strip("+") or argument.endswith("+"):
        raise UsageError(
            "the policy is incomplete",
            where=f"policy shield:{argument}",
            expected="shield:FILE or shield:FILE+SPEC",
        )
    check_inside(f"shield:{argument}")
    places = [i for i, letter in enumerate(argument) if letter == "+"]
    parts = [
        (argument[:i], argument[i + 1 :]) for i in places if argument[:i] and argument[i + 1 :]
    ]
    if not parts or _is_file(argument):
        return argument, None
    return next((part for part in parts if _is_file(part[0])), parts[0])


def _is_file(name: str) -> bool:
    return is_there(Path(name)) and Path(name).is_file()


def _read(content: bytes, where: str) -> AnyShield:
    try:
        text = content.decode()
        document = parse_json(text)
        kind = document.get("kind") if isinstance(document, dict) else None
        if kind == DECIDER:
            return DeciderShield.from_json(text)
        return ShieldTable.from_json(text) if kind == "oracle" else Blacklist.from_json(text)
    except (ValueError, KeyError, RecursionError) as error:
        raise InputFormatError(
            f"cannot read the shield: {type(error).__name__}: {str(error)[:80]}",
            where=where,
            expected="a blacklist, an oracle shield or its table, as JSON",
        ) from None
    except InputFormatError as error:
        raise InputFormatError(error.what, where=where, expected=error.expected) from None


__all__ = ["load"]
