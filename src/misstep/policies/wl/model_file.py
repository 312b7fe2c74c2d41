"""The files of wlplan: a zip archive with one `.params` and one `.opts`, or the `.params` alone; both are JSON.

Only JSON is read, and no more of it than a ranker can need. In the key of a colour, wlplan 2.0 writes the node's own
colour first and wlplan 2.1 writes it last; here it always comes first.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeGuard

import numpy as np
from numpy.typing import NDArray

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, UnsupportedError
from misstep.files import read_bytes, write_bytes
from misstep.policies.archives import archive_of

KIND = "a Weisfeiler-Leman ranker written by wlplan (a zip file with a .params file, or that file)"
MAX_BYTES = 64 * 2**20  # of the file, and of the JSON in it, which takes many times as much memory
MAX_ITERATIONS = 64
OWN_FIRST, OWN_LAST = (2, 0), (2, 1)  # versions of wlplan, by the place of the own colour in a key
Key = tuple[int, ...]


@dataclass(frozen=True)
class WlModel:
    """A ranker as it is stored, after all checks."""

    domain: str
    predicates: tuple[tuple[str, int], ...]
    """Name and arity; the place of a predicate in this list is part of its colours."""
    multiset: bool
    """Whether a colour counts equal neighbours, or only says that there are some."""
    initial: dict[int, int]
    """Maps the kind of a node (`misstep.policies.wl.layout`) to its first colour."""
    layers: tuple[dict[Key, int], ...]
    """For each iteration: maps the own colour and the neighbours' positions, colours and counts to the new colour."""
    weights: NDArray[np.float64]
    """Of each colour."""
    digest: str = ""


def read_model(path: Path) -> WlModel:
    where = str(path)
    content = read_bytes(path, MAX_BYTES, KIND)
    text = content if content[:1] in (b"{", b" ", b"\n") else _member(content, where)
    try:
        document = parse_json(text)
    except ValueError as error:
        raise InputFormatError(
            f"this is not JSON, or it is cut off: {str(error)[:80]}", where=where, expected=KIND
        ) from None
    if not isinstance(document, dict):
        _refuse("the parameters are not a JSON object", where)
    return decode(document, where, hashlib.sha256(content).hexdigest())


def _member(content: bytes, where: str) -> bytes:
    """The parameters in the archive."""
    with archive_of(content, where, "ranker", KIND, MAX_BYTES) as archive:
        members = [m for m in archive.infolist() if m.filename.endswith(".params")]
        if len(members) != 1:
            _refuse(f"the archive has {len(members)} files that end in .params, not one", where)
        return archive.read(members[0])


def decode(document: dict[str, Any], where: str, digest: str = "") -> WlModel:
    """The ranker of a `.params` document."""
    for key, wanted in (("feature_name", "wl"), ("graph_representation", "ilg")):
        if document.get(key) != wanted:
            raise UnsupportedError(
                f"{key} is {document.get(key)!r:.60}", where=where, expected=repr(wanted)
            )
    iterations = document.get("iterations")
    if not _is_count(iterations) or iterations > MAX_ITERATIONS:
        _refuse(f"iterations is {iterations!r:.60}, not a number up to {MAX_ITERATIONS}", where)
    multiset = document.get("multiset_hash")
    if not isinstance(multiset, bool):
        _refuse(f"multiset_hash is {multiset!r:.60}, not true or false", where)
    weights = _weights(document, where)
    tables = document.get("colour_hash")
    if not isinstance(tables, list) or len(tables) <= iterations:
        _refuse(f"colour_hash is not a list of {iterations + 1} tables", where)
    own_first = _own_first(document, where) if iterations else True
    name, predicates = _domain(document, where)
    first = _table(tables[0], 0, len(weights), True, where)
    return WlModel(
        domain=name,
        predicates=predicates,
        multiset=multiset,
        initial={key[0]: colour for key, colour in first.items()},
        layers=tuple(
            _table(table, number, len(weights), own_first, where)
            for number, table in enumerate(tables[1 : iterations + 1], 1)
        ),
        weights=weights,
        digest=digest,
    )


def _own_first(document: dict[str, Any], where: str) -> bool:
    text = document.get("package_version")
    found = re.match(r"(\d{1,4})\.(\d{1,4})(\.|$)", text) if isinstance(text, str) else None
    version = (int(found[1]), int(found[2])) if found else None
    if version not in (OWN_FIRST, OWN_LAST):
        raise UnsupportedError(
            f"the file is of wlplan {text!r:.40}",
            where=where,
            expected="wlplan 2.0 or 2.1, which differ in how they write colours",
        )
    return version == OWN_FIRST


def _weights(document: dict[str, Any], where: str) -> NDArray[np.float64]:
    listed = document.get("weights")
    if not isinstance(listed, list) or not listed:
        _refuse("there are no weights: the file describes features, not a ranker", where)
    if not all(isinstance(w, (int, float)) and not isinstance(w, bool) for w in listed):
        _refuse("a weight is not a number", where)
    try:
        weights = np.array(listed, dtype=np.float64)
    except OverflowError:
        weights = np.array([np.inf])
    if not np.isfinite(weights).all():
        _refuse("a weight is infinite or undefined", where)
    return weights


def _domain(document: dict[str, Any], where: str) -> tuple[str, tuple[tuple[str, int], ...]]:
    domain = document.get("domain")
    listed = domain.get("predicates") if isinstance(domain, dict) else None
    if not isinstance(domain, dict) or not isinstance(listed, list):
        _refuse("there is no domain with a list of predicates", where)
    predicates = []
    for entry in listed:
        match entry:
            case [str(name), arity] if _is_count(arity) and arity < 64:
                predicates.append((name.lower(), arity))
            case _:
                _refuse(f"{entry!r:.60} is not a predicate and its arity", where)
    if len({name for name, _ in predicates}) != len(predicates):
        _refuse("a predicate is listed twice", where)
    return str(domain.get("name"))[:80], tuple(predicates)


def _table(table: Any, layer: int, colours: int, own_first: bool, where: str) -> dict[Key, int]:
    if not isinstance(table, dict):
        _refuse(f"colour_hash[{layer}] is not a table", where)
    found: dict[Key, int] = {}
    for text, colour in table.items():
        if not _is_count(colour) or colour >= colours:
            _refuse(f"the colour {colour!r:.40} has none of the {colours} weights", where)
        key = _key(text, own_first) if re.fullmatch(r"\d{1,9}(\.\d{1,9})*", text) else None
        if key is None or len(key) % 3 != 1 or (layer == 0 and len(key) != 1):
            _refuse(f"colour_hash[{layer}] has a key {text!r:.60}, which is not a colour", where)
        found[key] = colour
    return found


def _key(text: str, own_first: bool) -> Key:
    parts = [int(part) for part in text.split(".")]
    own = parts.pop(0) if own_first else parts.pop()
    neighbours = sorted(tuple(parts[i : i + 3]) for i in range(0, len(parts), 3))
    return (own, *(part for neighbour in neighbours for part in neighbour))


def encode(model: WlModel) -> dict[str, Any]:
    """The document as wlplan 2.1 writes it."""
    tables: list[dict[str, int]] = [{str(raw): c for raw, c in model.initial.items()}]
    for layer in model.layers:
        tables.append({".".join(map(str, (*key[1:], key[0]))): c for key, c in layer.items()})
    return {
        "colour_hash": tables,
        "colour_to_layer": [
            [c, number] for number, t in enumerate(tables) for c in sorted(t.values())
        ],
        "domain": {
            "constant_objects": [],
            "functions": [],
            "name": model.domain,
            "predicates": [list(predicate) for predicate in model.predicates],
            "schemata": [],
        },
        "feature_name": "wl",
        "graph_representation": "ilg",
        "iterations": len(model.layers),
        "multiset_hash": model.multiset,
        "package_version": "2.1.0",
        "pruning": "none",
        "weights": model.weights.tolist(),
    }


def write_model(model: WlModel, path: Path, options: dict[str, Any]) -> None:
    """Write an archive, all or nothing; `options` says how the ranker was made. Equal content gives equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for ending, document in (("params", encode(model)), ("opts", options)):
            entry = zipfile.ZipInfo(f"{path.name}.{ending}", (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, json.dumps(document, indent=1, sort_keys=True))
    write_bytes(path, buffer.getvalue())


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _refuse(what: str, where: str) -> NoReturn:
    raise InputFormatError(what, where=where, expected=KIND)


__all__ = ["KIND", "Key", "WlModel", "decode", "encode", "read_model", "write_model"]
