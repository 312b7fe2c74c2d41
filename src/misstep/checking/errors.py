"""The checker's own error: it cannot answer. A wrong record is an answer, not an error."""

from __future__ import annotations

from misstep.errors import InputFormatError


class CheckError(InputFormatError, ValueError):
    """The input is damaged, or uses a feature that the checker does not know."""


__all__ = ["CheckError"]
