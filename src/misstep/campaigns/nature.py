"""The properties of a policy that the results of a campaign depend on."""

from __future__ import annotations

from typing import NamedTuple

from misstep.campaigns.rows import decoded
from misstep.campaigns.store import Store
from misstep.decoding import parse_json


class Nature(NamedTuple):
    """The kind of a policy, and the rule that chooses among its permitted operators, if there is one."""

    kind: str = (
        "function"  # set: set-valued; plan: answers with plans; avoid: with memory of the run
    )
    chooser: str | None = None  # a fixed rule that chooses among what a set-valued policy permits

    @property
    def pair(self) -> str | None:
        """The other component that the results depend on besides the policy."""
        return "--revisit avoid" if self.kind == "avoid" else self.chooser


def read_nature(store: Store) -> Nature:
    found = store.rows("SELECT value FROM meta WHERE key = 'nature'")
    return decoded(lambda row: _nature(row[0]), found[0], store.path) if found else Nature()


def _nature(text: str) -> Nature:
    nature = Nature(**parse_json(text))
    if any(type(own) not in (str, type(None)) for own in nature):
        raise ValueError("expected the kind of a policy, and the name of a rule")
    return nature


__all__ = ["Nature", "read_nature"]
