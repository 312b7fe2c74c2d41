"""What a learner gives to an environment as its action."""

from __future__ import annotations

from typing import Any

import numpy as np

from misstep.errors import UsageError


def action_number(action: Any, count: int, noun: str) -> int:
    """The number of an action. Rounding a fraction or reading a text would be an action that nobody has chosen."""
    given = np.asarray(action)
    expected = f"a whole number from 0 to {count - 1}"
    if given.dtype.kind not in "iu" or given.size != 1:
        raise UsageError(f"there is no {noun} {action!r:.60}", expected=expected)
    number = int(given.reshape(()))
    if not 0 <= number < count:
        raise UsageError(f"there is no {noun} {number}", expected=expected)
    return number


__all__ = ["action_number"]
