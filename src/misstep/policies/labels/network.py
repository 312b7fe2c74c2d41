"""`network:FILE`: a network or tree ensemble, with the interface that says what it reads and what its outputs mean.

FILE is the interface (.jani2nnet), which names the network, or the network itself. Its interface is then given by
`--inputs` and `--outputs`, or it is the file that `--interface=FILE` names, or the one of the same name ending in
.jani2nnet, or the one that the model names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from misstep import _core
from misstep.errors import InputFileError, InputFormatError, UnsupportedError, UsageError
from misstep.files import is_there
from misstep.policies.labels.policy import LabelPolicy, Setting, digest_of
from misstep.policies.networks import Network, load_network
from misstep.policies.networks.options import OPTIONS, declaration_of
from misstep.policies.options import split_options
from misstep.policies.shipped import shipped
from misstep.tasks.jani.interface import InterfaceInput, JaniInterface, load_interface
from misstep.tasks.jani.task import JaniTask

ENDING = ".jani2nnet"


def load(argument: str, setting: Setting) -> LabelPolicy:
    options, file = split_options(argument, "network", OPTIONS)
    if not file:
        raise UsageError(
            "the policy is incomplete", where=f"policy network:{argument}", expected="network:FILE"
        )
    path = Path(file)
    if path.suffix.lower() == ENDING:
        if options.keys() & {"interface", "inputs", "outputs"}:
            raise UsageError("two interfaces", where=f"policy network:{argument}")
        interface, where = load_interface(path), str(path)
        path = _named_network(interface, path)
        network = load_network(path, declaration_of(options, interface, where))
    else:
        try:
            interface, where = interface_of(options, path, setting.task)
        except InputFileError:
            load_network(
                path, declaration_of(options)
            )  # the error of the file itself is the better message
            raise
        network = load_network(path, declaration_of(options, interface, where))
    return network_policy(network, with_mask(interface, options), setting, where=where)


def with_mask(interface: JaniInterface, options: Mapping[str, Any]) -> JaniInterface:
    return replace(interface, filter=options["mask"]) if "mask" in options else interface


def interface_of(
    options: Mapping[str, Any], path: Path, task: JaniTask
) -> tuple[JaniInterface, str]:
    """The interface of a network or an agent, and where it comes from."""
    inputs, outputs = options.get("inputs"), options.get("outputs")
    if inputs is not None or outputs is not None:
        if "interface" in options:
            raise UsageError(
                "an interface file beside --inputs or --outputs",
                where=f"policy {path}",
                expected="one of them",
            )
        return plain_interface(task, inputs, outputs), str(path)
    found = _find_interface(path, options.get("interface"), task)
    return load_interface(found), str(found)


def plain_interface(
    task: JaniTask,
    inputs: tuple[str, ...] | None = None,
    outputs: tuple[str, ...] | None = None,
    *,
    mask: bool = True,
) -> JaniInterface:
    """All variables and all labels in declared order, unless the options name them."""
    return JaniInterface(
        inputs=tuple(InterfaceInput(name) for name in inputs or task.variable_names),
        outputs=tuple(outputs or task.labels),
        hidden=(),
        filter=mask,
        policy_file=None,
        torch_file=None,
    )


def load_shipped(argument: str, setting: Setting) -> LabelPolicy:
    """`shipped:NAME`. The model must be the one that the network was trained on, with the same names and sizes."""
    own, task = shipped("safety", argument), setting.task
    interface = load_interface(own.file)
    for what, known, there in (
        ("variable", [item.name for item in interface.inputs], task.variable_names),
        ("label", list(interface.outputs), task.labels),
    ):
        missing = [name for name in known if name not in there]
        extra = [name for name in there if name not in (*known, *own.card.get("ignored", ()))]
        if missing or extra:
            told = f"has no {what} {missing[0]}" if missing else f"has a {what} {extra[0]} too many"
            raise UnsupportedError(
                f"the model is not what the network was trained on: it {told}",
                where=f"policy shipped:{argument}",
                hint=f"{own.card['commands'][0]} makes that",
            )
    network = load_network(_named_network(interface, own.file))
    return network_policy(network, interface, setting, where=str(own.file))


NAMED = "name what each input and output stands for: --inputs=NAME,NAME --outputs=LABEL,LABEL"


def network_policy(
    network: Network, interface: JaniInterface, setting: Setting, *, where: str
) -> LabelPolicy:
    """The policy of a network that is loaded already."""
    task = setting.task
    interface.check_sizes(network.inputs, network.outputs, where, NAMED)
    missing = [name for name in interface.outputs if name not in task.labels]
    if missing:
        raise InputFormatError(
            "the model has no label " + ", ".join(map(repr, missing[:6])),
            where=where,
            expected="labels of the model: " + ", ".join(task.labels[:20]),
        )
    twice = [name for name in task.labels if interface.outputs.count(name) > 1]
    if twice:
        raise InputFormatError(
            f"several outputs of the network stand for the label {twice[0]!r}",
            where=where,
            expected="another label for each output",
            hint=NAMED,
        )
    inapplicable = setting.inapplicable or ("filter" if interface.filter else "error")
    core = network.core or _core.CallbackNetwork(network.inputs, network.outputs, network.evaluate)
    filtered = inapplicable == "filter"
    columns = interface.columns(task, where)
    constants = interface.constants(task)
    policy = _core.NetworkPolicy(
        setting.engine,
        core,
        [max(column, 0) for column in columns],
        interface.labels(task),
        filter=filtered,
        constants=constants,
    )
    meaning = [*map(str, interface.inputs), "", *interface.outputs]
    if constants:
        meaning += ["", *map(str, constants.items())]
    digest = digest_of("network", network.digest, str(filtered), *meaning)
    native = network.core is not None
    return setting.bind(policy, digest, inapplicable=inapplicable, end=network.close, native=native)


def _named_network(interface: JaniInterface, where: Path) -> Path:
    files = [file for file in (interface.policy_file, interface.torch_file) if file is not None]
    if not files:
        raise InputFormatError(
            "the interface names no file with the network",
            where=str(where),
            expected='"file": "NAME"',
        )
    return next((file for file in files if is_there(file)), files[0])


def _find_interface(network: Path, given: str | None, task: JaniTask) -> Path:
    if given is not None:
        return Path(given)
    beside = network.with_suffix(ENDING)
    if is_there(beside):
        return beside
    if task.interface_file is not None:
        return task.interface_file
    raise InputFileError(
        "the network has no interface",
        where=str(network),
        expected=f"{beside.name} beside it",
        hint=f"or name one: network:--interface=FILE {network}, or {NAMED}",
    )


__all__ = [
    "interface_of",
    "load",
    "load_shipped",
    "network_policy",
    "plain_interface",
    "with_mask",
]
