"""A record as a line of JSON, written faster than by way of `Record.as_dict`.

The text is that of `json.dumps(record.as_dict())`, and the tests compare the two. A large campaign has millions of
numbers in its records, and nearly all the time goes into copying them: out of the records into dictionaries, and from
there into text. Here the encoder of the standard library, which is native code, reads the records themselves. What
stands in records several times is written once: the witness, which is also that of the oracle's verdict, the states of
a strategy, which many records share, and the states of a run, which leads through many records.
"""

from __future__ import annotations

import json
from typing import Any

from misstep.campaigns.records import Opinion, Record, Run, Witness, field_names
from misstep.campaigns.rows import Values
from misstep.campaigns.shared import SharedWitness

MOST_TEXTS = 5000  # of states, that are kept for the next records


def _as_dict(value: object) -> dict[str, Any]:
    return {name: getattr(value, name) for name in field_names(type(value))}


# A record has no cycles, so the encoder need not look for them.
_encode = json.JSONEncoder(check_circular=False, default=_as_dict).encode


class _Around:
    """Writes a dataclass except for some of its fields, whose text is given."""

    def __init__(self, kind: type, *given: str) -> None:
        names = field_names(kind)
        self.parts: list[tuple[str, ...]] = []
        for name in given:
            place = names.index(name)
            self.parts.append(names[:place])
            names = names[place + 1 :]
        self.last = names
        self.given = given

    def __call__(self, value: object, *texts: str) -> str:
        parts = [
            f'{_fields(value, part)}, "{name}": {text}'
            for part, name, text in zip(self.parts, self.given, texts, strict=True)
        ]
        return f"{{{', '.join([*parts, _fields(value, self.last)])}}}"


def _fields(value: object, names: tuple[str, ...]) -> str:
    """Some fields as JSON, without the braces."""
    return _encode({name: getattr(value, name) for name in names})[1:-1]


class RecordLines:
    """Makes lines of records, in the order in which a campaign has them."""

    _record = _Around(Record, "run", "witness", "verdicts")
    _run = _Around(Run, "states")
    _opinion = _Around(Opinion, "witness")
    _witness = _Around(Witness, "strategy")

    def __init__(self) -> None:
        # By the identity of a state: 1, 1.0 and true are equal and written differently. The state is kept with its
        # text, so that no other one takes its place in memory.
        self._texts: dict[int, tuple[Values, str]] = {}

    def line(self, record: Record) -> str:
        """The JSON of `record.as_dict()`, without a newline."""
        witness = self._of_witness(record.witness)
        verdicts = ", ".join(
            self._opinion(
                own, witness if own.witness is record.witness else self._of_witness(own.witness)
            )
            for own in record.verdicts
        )
        return self._record(record, self._of_run(record.run), witness, f"[{verdicts}]")

    def _of_run(self, run: Run) -> str:
        if run.states is None:
            return _encode(run)
        if len(self._texts) > MOST_TEXTS:
            self._texts.clear()
        return self._run(run, f"[{', '.join(map(self._of_state, run.states))}]")

    def _of_state(self, state: Values) -> str:
        known = self._texts.get(id(state))
        if known is not None and known[0] is state:
            return known[1]
        text = _encode(state)
        self._texts[id(state)] = state, text
        return text

    def _of_witness(self, own: Witness) -> str:
        if not isinstance(own, SharedWitness):
            return _encode(own)
        return self._witness(own, own.strategy_as_json(_encode))


__all__ = ["RecordLines"]
