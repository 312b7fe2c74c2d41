"""Shrinking: find a small task or model that still shows the same fault."""

from misstep.comparison.shrink.api import DEFAULT_CANDIDATES, shrink_bug, shrunk_of
from misstep.comparison.shrink.legal import DEFAULT_LEGAL, LEGAL
from misstep.comparison.shrink.shrunk import Shrunk

__all__ = [
    "DEFAULT_CANDIDATES",
    "DEFAULT_LEGAL",
    "LEGAL",
    "Shrunk",
    "shrink_bug",
    "shrunk_of",
]
