"""From a spec such as `random:7` or `policy.jani2nnet` to a policy over labels."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

from misstep import _core
from misstep.errors import UsageError
from misstep.policies.load import Kind
from misstep.policies.networks.load import READERS
from misstep.safety.policies.handle import LabelPolicyHandle, Setting
from misstep.safety.system import INAPPLICABLE
from misstep.tasks.jani.task import JaniTask

Loader = Callable[[str, Setting], LabelPolicyHandle]

BUILTIN: dict[str, Kind] = {
    "first": Kind("first", "the first label that applies, as declared", "native:load_first"),
    "random": Kind("random:SEED", "a pseudo-random function of the state", "native:load_random"),
    "network": Kind(
        "network:FILE",
        "a network or tree ensemble with its interface; a plain FILE will do",
        "network:load",
    ),
    "shipped": Kind(
        "shipped:NAME", "a trained network that comes with Misstep", "network:load_shipped"
    ),
    "python": Kind("python:FILE.py:NAME", "a Python function or class", "function:load"),
    "exec": Kind("exec:COMMAND", "a program that speaks JSON lines", "process:load"),
    "shield": Kind("shield:FILE+SPEC", "another policy behind a shield", "shielded:load"),
}
FILES = (".jani2nnet", *READERS)


def load_label_policy(
    spec: str,
    task: JaniTask,
    *,
    engine: _core.JaniEngine | None = None,
    inapplicable: str | None = None,
) -> LabelPolicyHandle:
    """The policy of that spec, bound to the task, or to an engine of the task that is not its own.

    `inapplicable` says what is to happen where the policy names no label that applies (see `System`). By default the
    best label that applies is taken, unless the policy's interface says that it was not made for that.
    """
    if inapplicable not in (None, *INAPPLICABLE):
        raise UsageError(f"inapplicable is {inapplicable!r}", expected=", ".join(INAPPLICABLE))
    kind, colon, argument = spec.partition(":")
    if kind not in BUILTIN and Path(spec).suffix.lower() in FILES:
        kind, argument = "network", spec
    elif kind not in BUILTIN:
        close = get_close_matches(kind, BUILTIN, 1)
        raise UsageError(
            f"no policy kind {kind!r}",
            where=f"--policy {spec}",
            expected=", ".join(BUILTIN) + ", or a file ending in " + ", ".join(FILES),
            hint=f"did you mean {close[0]}?" if close else "see misstep list",
        )
    elif bool(colon) != (":" in BUILTIN[kind].spec):
        raise UsageError(
            "too much or too little to name a policy",
            where=f"--policy {spec}",
            expected=BUILTIN[kind].spec,
        )
    module, _, function = BUILTIN[kind].loader.partition(":")
    loader: Loader = getattr(import_module(f"misstep.safety.policies.{module}"), function)
    # An engine that has met no state yet is false.
    chosen = task.engine if engine is None else engine
    handle = loader(argument, Setting(task, chosen, inapplicable))
    handle.name = spec
    return handle


__all__ = ["BUILTIN", "load_label_policy"]
