"""Which policies and oracles a definition may name without permission of the user.

A file of a definition may come from a stranger, as the folder of a campaign may. Running it must not run code that
only the file names: see `policies/trust.py` and `oracles/trust.py`. Our own definitions are trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from misstep.errors import UsageError
from misstep.experiments.definition import Definition
from misstep.oracles.trust import require_oracle_trust
from misstep.policies.trust import Trust, require_trust

HINT = "if you trust the file, give --trust-policy"


def require_trusted(definition: Definition, trust: Trust) -> None:
    """Raise an error unless all that a definition of the user's names is plain or trusted."""
    if definition.folder is None:  # it comes with Misstep
        return
    source, of_model = definition.source, definition.top["world"] == "models"
    for place, row in enumerate(definition.top["rows"]):
        for spec in _texts(row.get("policies", [])):
            try:
                require_trust(spec, trust, source.where(("rows", place)), of_model=of_model)
            except UsageError as error:
                what = error.what.replace("the stored policy", "the policy")
                raise UsageError(
                    what, where=error.where, expected=error.expected, hint=HINT
                ) from error
    for place, step in enumerate(definition.top["steps"]):
        for text in _texts(step):
            require_oracle_trust(text, trust, source.where(("steps", place)), hint=HINT)


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value of a definition, at every scale."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for own in value.values():
            yield from _texts(own)
    elif isinstance(value, list):
        for own in value:
            yield from _texts(own)


__all__ = ["require_trusted"]
