"""Which oracles a folder may name without permission of the user.

The settings and the verdicts of a campaign name oracles, and the folder may come from a stranger. Our own oracles only
run our own code. An oracle from an installed package (an entry point) was installed by the user, but perhaps not for
this purpose: using it needs permission, like a policy that runs code. Oracles that the user has named in this process
(`--oracle`, `judge`, an argument in Python) or has registered are trusted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import metadata

from misstep.errors import UsageError
from misstep.oracles.presets import PRESETS
from misstep.oracles.registry import BUILTIN, GROUP, is_registered

Trust = bool | Callable[[str], bool]
PREFIX = "--oracle "  # of what somebody is asked about, to tell it from a policy

_GIVEN: set[str] = set()


def foreign_oracles(spec: object) -> list[str]:
    """The names in a spec of oracles from other packages, found without loading anything."""
    if not isinstance(spec, str):
        return []
    # Which word is a name and which an argument does not matter: at worst one is asked about in vain.
    words = sorted(set(re.findall(r"[\w.-]+", spec)))
    others = {point.name for point in metadata.entry_points(group=GROUP)}
    return [
        word
        for word in words
        if word in others
        and word not in BUILTIN
        and word not in PRESETS
        and not is_registered(word)
    ]


def given_oracle(spec: object) -> None:
    """Note that the user has named this oracle in this process, so that a folder may name it as well."""
    _GIVEN.update(foreign_oracles(spec))


def require_oracle_trust(
    spec: object, trust: Trust, where: str, *, hint: str | None = None
) -> None:
    """Raise an error unless the oracle that a file names is our own or trusted by the user."""
    for name in foreign_oracles(spec):
        if name in _GIVEN or trust is True or (callable(trust) and trust(PREFIX + name)):
            continue
        raise UsageError(
            f"the stored oracle {name!r:.100} would run code of another package",
            where=where,
            expected="permission to run it",
            hint=hint
            or "if you trust it, give --trust-policy; in Python, open_campaign(DIR, trust_policy=True)",
        )


__all__ = ["PREFIX", "Trust", "foreign_oracles", "given_oracle", "require_oracle_trust"]
