"""A record as a line of JSON, written faster than by way of `Record.as_dict`.

The text is that of `json.dumps(record.as_dict())`, and the tests compare the two. A large campaign has millions of
numbers in its records, and nearly all the time goes into copying them: out of the records into dictionaries, and from
there into text. Here the encoder of the standard library, which is native code, reads the records themselves. What
stands in a record several times is written once: the witness, which is also that of the oracle's verdict, and the
states of a strategy, which many records share.
"""

from __future__ import annotations

import json
from typing import Any

from misstep.campaigns.records import Opinion, Record, Witness, field_names
from misstep.campaigns.shared import SharedWitness

_NAMES = field_names(Record)
_WITNESS, _VERDICTS = _NAMES.index("witness"), _NAMES.index("verdicts")
_OPINION = field_names(Opinion)
_OF_OPINION = _OPINION.index("witness")
_OF_WITNESS = field_names(Witness)
_STRATEGY = _OF_WITNESS.index("strategy")


def _as_dict(value: object) -> dict[str, Any]:
    return {name: getattr(value, name) for name in field_names(type(value))}


# A record has no cycles, so the encoder need not look for them.
_encode = json.JSONEncoder(check_circular=False, default=_as_dict).encode


def _pieces(value: object, names: tuple[str, ...]) -> str:
    """Some fields of a dataclass as JSON, without the braces."""
    return _encode({name: getattr(value, name) for name in names})[1:-1]


_BEFORE = _NAMES[:_WITNESS]
_BETWEEN = _NAMES[_WITNESS + 1 : _VERDICTS]
_AFTER = _NAMES[_VERDICTS + 1 :]
_OPINION_BEFORE = _OPINION[:_OF_OPINION]
_OPINION_AFTER = _OPINION[_OF_OPINION + 1 :]
_WITNESS_BEFORE = _OF_WITNESS[:_STRATEGY]
_WITNESS_AFTER = _OF_WITNESS[_STRATEGY + 1 :]


def record_line(record: Record) -> str:
    """The JSON of `record.as_dict()`, without a newline."""
    witness = _witness(record.witness)
    verdicts = ", ".join(
        _opinion(own, witness if own.witness is record.witness else _witness(own.witness))
        for own in record.verdicts
    )
    return (
        f'{{{_pieces(record, _BEFORE)}, "witness": {witness}, {_pieces(record, _BETWEEN)}, '
        f'"verdicts": [{verdicts}], {_pieces(record, _AFTER)}}}'
    )


def _opinion(own: Opinion, witness: str) -> str:
    return f'{{{_pieces(own, _OPINION_BEFORE)}, "witness": {witness}, {_pieces(own, _OPINION_AFTER)}}}'


def _witness(own: Witness) -> str:
    if not isinstance(own, SharedWitness):
        return _encode(own)
    strategy = own.strategy_as_json(_encode)
    return f'{{{_pieces(own, _WITNESS_BEFORE)}, "strategy": {strategy}, {_pieces(own, _WITNESS_AFTER)}}}'


__all__ = ["record_line"]
