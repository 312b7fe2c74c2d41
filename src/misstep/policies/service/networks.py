"""Graph networks at the service, and the evaluator of a client that asks them.

The client encodes the task and sends the tables; the service reads the network's file. So a client needs no PyTorch.

The same network sees different tasks of a domain through different tables. Several tables can be joined into one: a
state is then a row with the numbers of its facts, padded with a fact that is not an atom. To the network this is one
more task, whose states list the true facts instead of the values of variables. In this way questions about several
tasks go to the device in one batch, and the network's own code need not know. Sums over padded objects round
differently, as sums in other batches do, so decisions that are close to a tie are evaluated again alone.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from misstep.decoding import parse_json, read_npz
from misstep.errors import InputFormatError, MisstepError
from misstep.policies.gnn.encoding import Encoding, encode
from misstep.policies.gnn.relations import Relation
from misstep.policies.service.client import Served, client_of
from misstep.policies.service.models import Model, Output, Part
from misstep.tasks.task import Task

if TYPE_CHECKING:
    from misstep.policies.gnn.checkpoint import Checkpoint
    from misstep.policies.gnn.evaluator import Evaluator

HERE = "misstep.policies.service.networks"
MOST_UNPACKED = 1 << 32  # bytes of the tables of a task
MOST_JOINED = 8_192  # states of one task in a joined batch: more fill the device by themselves
Evaluated = tuple[NDArray[np.float64], NDArray[np.float64] | None]

# -- the client -------------------------------------------------------------------------------------


class ServedNetwork:
    """Evaluates at the service, with the interface of `Evaluator`, which evaluates in this process."""

    def __init__(self, served: Served, file: Served, device: str) -> None:
        self._served = served
        self._file = file
        self.kind = device.partition(":")[0]
        self.digest = str(file.about["digest"])

    @property
    def steady(self) -> bool:
        return False  # near ties are asked again: the client does not know the service's hardware

    def evaluate(self, states: NDArray[np.int32], offsets: NDArray[np.int64]) -> Evaluated:
        return self._ask(states, offsets, alone=False)

    def evaluate_alone(self, states: NDArray[np.int32], offsets: NDArray[np.int64]) -> Evaluated:
        return self._ask(states, offsets, alone=True)

    def _ask(
        self, states: NDArray[np.int32], offsets: NDArray[np.int64], *, alone: bool
    ) -> Evaluated:
        if len(states) == 0:
            has_logits = int(self._served.about["columns"]) > 1
            return np.empty(0), np.empty(0) if has_logits else None
        columns = self._served.ask(states, offsets, alone=alone).columns
        return columns[0], columns[1] if len(columns) > 1 else None

    def close(self) -> None:
        self._served.close()
        self._file.close()


def open_network(task: Task, path: Path, kind: str, seed: int, device: str) -> ServedNetwork:
    """The network of a file, on a task, at the service of a device."""
    client = client_of(device)
    where = {"path": str(path.absolute()), "kind": kind}
    try:
        file = client.open(f"{HERE}:load_file", json.dumps(where).encode())
    except MisstepError as error:
        if error.where is not None:  # the file's name as the user wrote it
            error.where = error.where.replace(where["path"], str(path))
        raise
    relations = tuple(Relation(name, arity) for name, arity in file.about["relations"])
    encoding = encode(task, relations, str(path))
    choice = {**where, "digest": file.about["digest"], "seed": seed, "device": device}
    content = _packed(choice, encoding, np.array(task.domain_sizes, dtype=np.int64))
    return ServedNetwork(client.open(f"{HERE}:load_network", content), file, device)


_ARRAYS = ("variable_offsets", "constant_facts", "slot_relation", "slot_object", "last_object")


def _packed(choice: dict[str, Any], encoding: Encoding, sizes: NDArray[np.int64]) -> bytes:
    rest = {
        **choice,
        "relations": [[relation.name, relation.arity] for relation in encoding.relations],
        "node_count": encoding.node_count,
        "row_capacity": encoding.row_capacity,
        "always_visible": encoding.always_visible,
    }
    arrays = {name: getattr(encoding, name) for name in _ARRAYS}
    text = np.frombuffer(json.dumps(rest, sort_keys=True).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, rest=text, sizes=sizes, **arrays)
    return buffer.getvalue()


def _unpacked(content: bytes) -> tuple[dict[str, Any], Encoding, NDArray[np.int64]]:
    try:
        stored = read_npz(content, MOST_UNPACKED)
        rest = parse_json(stored["rest"].tobytes())
        arrays = {name: stored[name] for name in _ARRAYS}
        sizes = stored["sizes"]
        encoding = Encoding(
            relations=tuple(Relation(str(name), int(arity)) for name, arity in rest["relations"]),
            node_count=int(rest["node_count"]),
            row_capacity=tuple(map(int, rest["row_capacity"])),
            always_visible=bool(rest["always_visible"]),
            **arrays,
        )
        _check(encoding, sizes)
    except (AttributeError, LookupError, OverflowError, TypeError) as error:
        raise ValueError(f"the tables of a task are damaged: {error!s:.80}") from error
    return rest, encoding, sizes


def _check(encoding: Encoding, sizes: NDArray[np.int64]) -> None:
    """Numbers that lead outside of a table would end the device, and with it the work of all clients."""
    own, facts = encoding, len(encoding.last_object)
    kinds = {"i"} == {array.dtype.kind for array in (sizes, *(getattr(own, n) for n in _ARRAYS))}
    flat = (sizes, own.variable_offsets, own.constant_facts, own.last_object)
    tables = (own.slot_relation, own.slot_object)
    if not kinds or any(a.ndim != 1 for a in flat) or any(a.ndim != 2 for a in tables):
        raise ValueError("a table of a task has another form")
    if len(sizes) != len(own.variable_offsets) or {len(a) for a in tables} != {facts}:
        raise ValueError("the tables of a task have other lengths")
    bounds: tuple[tuple[NDArray[Any], int, int], ...] = (
        (sizes, 1, facts + 1),
        (own.variable_offsets, 0, facts),
        (own.variable_offsets + sizes, 0, facts + 1),
        (own.constant_facts, 0, facts),
        (own.slot_relation, 0, len(own.relations) + 1),
        (own.slot_object, 0, own.node_count),
        (own.last_object, -1, own.node_count),
    )
    for array, low, high in bounds:
        if array.size and not (low <= array.min() and array.max() < high):
            raise ValueError("a table of a task leads outside of another")


# -- the service ------------------------------------------------------------------------------------


class NetworkFile(Model):
    """A network file without a task. It answers no questions; clients only get its description."""

    width, columns = 0, 0

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self.key = f"file {checkpoint.digest}"
        relations = [[relation.name, relation.arity] for relation in checkpoint.relations]
        self.about = {"digest": checkpoint.digest, "relations": relations}

    def evaluate(self, part: Part) -> Output:
        return Output(np.empty((0, len(part.states))))


_files: WeakValueDictionary[str, NetworkFile] = WeakValueDictionary()


def load_file(content: bytes) -> NetworkFile:
    where = json.loads(content)
    file = NetworkFile(_read(Path(where["path"]), where["kind"]))
    return _files.setdefault(file.checkpoint.digest, file)


def _read(path: Path, kind: str) -> Checkpoint:
    if kind == "rgnn":
        from misstep.policies.rgnn.model_file import read_model

        return read_model(path)
    from misstep.policies.gnn.checkpoint import read_checkpoint

    return read_checkpoint(path)


def load_network(content: bytes) -> Network:
    rest, encoding, sizes = _unpacked(content)
    known = _files.get(rest["digest"])
    checkpoint = _read(Path(rest["path"]), rest["kind"]) if known is None else known.checkpoint
    if checkpoint.digest != rest["digest"]:
        raise InputFormatError("the file of the network has changed", where=rest["path"])
    key = hashlib.sha256(content).hexdigest()
    return Network(key, checkpoint, encoding, sizes, rest["seed"], rest["device"])


class Network(Model):
    """A network on the encoding of one task."""

    def __init__(
        self,
        key: str,
        checkpoint: Checkpoint,
        encoding: Encoding,
        sizes: NDArray[np.int64],
        seed: int,
        device: str,
    ) -> None:
        from misstep.policies.gnn.evaluator import Evaluator

        self.key = key
        self.encoding = encoding
        self.width = len(sizes)
        self.columns = 2 if checkpoint.has_solvable else 1
        self._sizes = sizes
        self._evaluator = Evaluator(checkpoint, encoding, seed, device)
        self._family = _family_of(checkpoint, encoding, seed, device)
        self._family.members.add(self)

    def problem(self, part: Part) -> str | None:
        if bool((part.states.view(np.uint32) >= self._sizes).any()):
            return "a state has values that its task does not have"
        return None

    def evaluate(self, part: Part) -> Output:
        return Output(_columns(self._evaluator.evaluate(*part)))

    def alone(self, part: Part) -> Output:
        from misstep.policies.gnn.policy import evaluate_alone

        return Output(_columns(evaluate_alone(self._evaluator, *part)))

    @property
    def family(self) -> object:
        return self._family

    def together(
        self, models: Sequence[Model], parts: Sequence[Part]
    ) -> list[NDArray[np.float64]] | None:
        if any(len(part.states) > MOST_JOINED for part in parts):
            return None
        networks = [model for model in models if isinstance(model, Network)]
        return self._family.evaluate(networks, parts)


def _columns(evaluated: Evaluated) -> NDArray[np.float64]:
    values, logits = evaluated
    return np.stack([values] if logits is None else [values, logits])


class Family:
    """One network on tasks of one domain and of about the same size."""

    def __init__(self, checkpoint: Checkpoint, seed: int, device: str) -> None:
        self.members: WeakSet[Network] = WeakSet()
        self._making = checkpoint, seed, device
        self._joint: Joint | None = None
        self._evaluator: Evaluator | None = None

    def evaluate(
        self, networks: Sequence[Network], parts: Sequence[Part]
    ) -> list[NDArray[np.float64]]:
        joint, evaluator = self._of_all(networks)
        states = [joint.rows(n.key, part.states) for n, part in zip(networks, parts, strict=True)]
        offsets = [np.zeros(1, dtype=np.int64)]
        for part in parts:
            offsets.append(part.offsets[1:] + offsets[-1][-1])
        columns = _columns(evaluator.evaluate(np.concatenate(states), np.concatenate(offsets)))
        return np.split(columns, np.cumsum([len(part.states) for part in parts])[:-1], axis=1)

    def _of_all(self, networks: Sequence[Network]) -> tuple[Joint, Evaluator]:
        """The joined encoding of all known tasks, so that not every combination of tasks needs its own."""
        if self._joint is None or any(n.key not in self._joint.bases for n in networks):
            from misstep.policies.gnn.evaluator import Evaluator

            members = sorted(self.members, key=lambda network: network.key)
            self._joint = Joint({network.key: network.encoding for network in members})
            checkpoint, seed, device = self._making
            self._evaluator = Evaluator(checkpoint, self._joint.encoding, seed, device)
        assert self._evaluator is not None
        return self._joint, self._evaluator


_families: WeakValueDictionary[tuple[str, int, str, int], Family] = WeakValueDictionary()


def _family_of(checkpoint: Checkpoint, encoding: Encoding, seed: int, device: str) -> Family:
    # Padding at most doubles the size.
    size = encoding.atoms_per_state.bit_length()
    key = (checkpoint.digest, seed, device, size)
    family = _families.get(key)
    if family is None:
        family = _families[key] = Family(checkpoint, seed, device)
    return family


class Joint:
    """Encodings of several tasks as one, whose states are rows of facts."""

    def __init__(self, encodings: dict[str, Encoding]) -> None:
        self._encodings = encodings
        parts = list(encodings.values())
        starts = np.cumsum([0, *(len(part.last_object) for part in parts)])
        self.bases = dict(zip(encodings, starts.tolist(), strict=False))
        self._none = int(starts[-1])  # the fact that is no atom
        self._width = max(part.atoms_per_state for part in parts)
        relations = parts[0].relations
        slots = parts[0].slot_relation.shape[1]
        none = np.full((1, slots), len(relations), dtype=np.int16)
        self.encoding = dataclasses.replace(
            parts[0],
            node_count=max(part.node_count for part in parts),
            variable_offsets=np.zeros(self._width, dtype=np.int64),
            constant_facts=np.empty(0, dtype=np.int64),
            slot_relation=np.concatenate([*(part.slot_relation for part in parts), none]),
            slot_object=np.concatenate(
                [*(part.slot_object for part in parts), np.zeros((1, slots), dtype=np.int32)]
            ),
            last_object=np.concatenate([*(part.last_object for part in parts), [-1]]).astype(
                np.int32
            ),
            row_capacity=tuple(
                np.max([part.row_capacity for part in parts], axis=0).astype(int).tolist()
            ),
            always_visible=False,
        )

    def rows(self, key: str, states: NDArray[np.int32]) -> NDArray[np.int32]:
        """Turns states of one of the tasks into states of the joined task."""
        own, base = self._encodings[key], self.bases[key]
        rows = np.full((len(states), self._width), self._none, dtype=np.int32)
        variables, facts = len(own.variable_offsets), own.atoms_per_state
        rows[:, :variables] = states + (own.variable_offsets + base)
        rows[:, variables:facts] = own.constant_facts + base
        return rows


__all__ = ["Joint", "Network", "NetworkFile", "ServedNetwork", "open_network"]
