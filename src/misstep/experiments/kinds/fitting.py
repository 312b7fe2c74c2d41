"""Choose the policy of a row: the first that can be loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from misstep.errors import MisstepError, PolicyAwayError, UnsupportedError


def first_fitting(
    specs: Sequence[str], load: Callable[[str], None], what: str, hint: str | None = None
) -> str:
    """The first policy that fits; raises an error if none does. If a server is not reachable, that is an error too."""
    refused = []
    for spec in specs:
        try:
            load(spec)
        except PolicyAwayError:
            raise
        except MisstepError as error:
            refused.append(f"{spec}: {error}")
        else:
            return spec
    raise UnsupportedError(f"no policy fits {what}; {'; '.join(refused)}"[:500], hint=hint)


__all__ = ["first_fitting"]
