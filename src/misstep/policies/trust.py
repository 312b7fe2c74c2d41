"""Which policies a folder may name without permission of the user.

The folder of a campaign may come from a stranger, and it names a policy. Loading `python:FILE.py:NAME` or
`exec:COMMAND` runs that file or command with all permissions of the user. So a folder alone can never make us run code:
the user must give the same policy again, or say that the stored one is trusted.

A spec is **plain** if loading and asking it runs only our own code on bounded data: the built-in policies, and networks
in formats that we read ourselves. Everything else is foreign: Python files, programs, servers and language models
(which see the tasks), files that another library opens (torch, onnxruntime), and kinds that other packages add. A
policy that contains another one is foreign if the inner one is. A kind that is not listed here is foreign, so a new
kind is not trusted by default.

`zoo:NAME` is plain, even if it starts a Python program: the name is looked up in a table of this package, and only
files of this package run. A folder cannot make it run anything else.

A plain spec may still name any file of this machine, such as `asnet:/etc/passwd`. It is read with a size limit by the
parser of that format, and errors do not show its content; nothing of it is written or sent anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from misstep.errors import InputFileError, MisstepError, UsageError
from misstep.policies.identity import IN_MEMORY
from misstep.policies.kinds import MOST_INSIDE
from misstep.policies.labels.load import BUILTIN as OF_MODELS
from misstep.policies.labels.load import FILES
from misstep.policies.load import BUILTIN as OF_TASKS
from misstep.policies.networks.options import OPTIONS
from misstep.policies.options import split_options
from misstep.policies.user_code import file_digest
from misstep.tasks.jani.interface import load_interface

# Kinds that only run our own code on bounded data.
PLAIN = frozenset(
    (
        *("first", "random", "heuristic", "plan", "optimal", "asnet", "shipped"),
        *("sketch", "rules", "wl", "sb3", "zoo"),
    )
)
# Kinds that run code, start programs, connect to servers, or pass files to other libraries.
FOREIGN = frozenset(("python", "exec", "command", "program", "llm", "grpc", "gnn", "rgnn", "gym"))
# Kinds that are plain if the policy inside them is.
PARTS = frozenset(("noisy", "shield", "network"))
# Networks that our own readers open; ONNX files are opened by onnxruntime.
OWN_READERS = frozenset((".nnet", ".safetensors", ".pt", ".pth", ".ckpt", ".zip", ".json", ".txt"))
_INTERFACE = ".jani2nnet"

Trust = bool | Callable[[str], bool]
"""Whether a stored policy may run: yes, no, or a function that decides by its spec."""

_GIVEN: set[str] = set()


def given(spec: object) -> None:
    """Note that the user has named this policy in this process, so that a folder may name it as well."""
    if isinstance(spec, str):
        _GIVEN.add(spec)


def is_plain(spec: str, *, of_model: bool) -> bool:
    """Whether a spec from an untrusted folder can be loaded safely, on a planning task or on a model."""
    if spec.count("+") > MOST_INSIDE:
        return False
    return _is_plain(spec, of_model, {})


def _is_plain(spec: str, of_model: bool, known: dict[str, bool]) -> bool:
    """The same, with what is known of the policies inside: they are shared by the readings of those around them."""
    if spec not in known:
        known[spec] = _judged(spec, of_model, known)
    return known[spec]


def _judged(spec: str, of_model: bool, known: dict[str, bool]) -> bool:
    kind, _, argument = spec.partition(":")
    if kind not in (OF_MODELS if of_model else OF_TASKS):
        # For models, a file without a kind is a network, or an archive of an agent, which is of the kind sb3.
        is_file = of_model and ":" not in spec and Path(spec).suffix.lower() in FILES
        return is_file and _is_plain_network(spec)
    if kind == "noisy":
        return _is_plain(argument.partition("+")[2], of_model, known)
    if kind == "shield":
        # Which plus ends the name of the file depends on the files that exist, so all readings must be plain.
        parts = argument.split("+")
        ends = ["+".join(parts[k:]) for k in range(1, len(parts))]
        # Without one the shield's file names the policy, and a shield lets its file name plain ones only.
        return all(_is_plain(end, of_model, known) for end in ends)
    if kind == "network":
        return _is_plain_network(argument)
    return kind in PLAIN


def _is_plain_network(argument: str) -> bool:
    try:
        _, file = split_options(argument, "network", OPTIONS)
        path = Path(file)
        if path.suffix.lower() != _INTERFACE:
            return path.suffix.lower() in OWN_READERS
        interface = load_interface(path)
    except (MisstepError, OSError, ValueError):
        return True  # loading it says what is wrong, and opens nothing else
    files = (interface.policy_file, interface.torch_file)
    return all(own is None or own.suffix.lower() in OWN_READERS for own in files)


def require_trust(spec: str, trust: Trust, where: str, *, of_model: bool) -> None:
    """Raise an error unless the policy that a file names is plain or trusted by the user."""
    if spec.startswith(f"{IN_MEMORY} ") or spec in _GIVEN or is_plain(spec, of_model=of_model):
        return
    if trust is True or (callable(trust) and trust(spec)):
        return
    raise UsageError(
        f"the stored policy {spec!r:.300} would run code or open a connection",
        where=where,
        expected="permission to run it",
        hint="if you trust it, give the same policy again (--policy SPEC) or --trust-policy; in Python, "
        "open_campaign(DIR, policy) or open_campaign(DIR, trust_policy=True)",
    )


def runs_file(spec: str) -> bool:
    """Whether a policy is Python code, or contains such a policy."""
    kind, _, argument = spec.partition(":")
    for _ in range(MOST_INSIDE + 1):
        if kind in PARTS:
            kind, _, argument = argument.partition("+")[2].partition(":")
    return kind == "python"


def fingerprints(files: Iterable[str]) -> dict[str, str]:
    """The digests of the files that a policy depends on, by name."""
    return {file: file_digest(Path(file)) for file in files}


def changed_file(known: Mapping[str, str]) -> str | None:
    """The first of these files that has changed, found without loading anything."""
    for file, digest in known.items():
        try:
            if file_digest(Path(file)) != digest:
                return file
        except InputFileError:
            return file
    return None


__all__ = [
    "FOREIGN",
    "PARTS",
    "PLAIN",
    "Trust",
    "changed_file",
    "fingerprints",
    "given",
    "is_plain",
    "require_trust",
    "runs_file",
]
