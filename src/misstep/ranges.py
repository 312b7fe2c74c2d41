"""Numbers that callers give, checked before the native core, which knows 64 bits, gets them."""

from __future__ import annotations

from misstep.errors import UsageError

MOST = 2**63 - 1
MOST_OF_SEEDS = 2**64 - 1


def check_whole(name: str, value: object, least: int, most: int = MOST) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(
            f"{name} is {value!r:.40}", expected=f"a whole number from {least} to {most}"
        )
    return value


def check_seed(value: object) -> int:
    return check_whole("seed", value, 0, MOST_OF_SEEDS)


def check_limits(**limits: object) -> None:
    """Limits are positive whole numbers, those of seconds any positive number; None is no limit."""
    for name, value in limits.items():
        kinds = (int, float) if name == "time_limit" else (int,)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, kinds) or not value > 0:
            raise UsageError(f"{name} is {value!r:.40}", expected="a positive number, or None")
        if isinstance(value, int) and value > MOST:
            raise UsageError(f"{name} is {value!r:.40}", expected="a number below 2^63, or None")


def bytes_of(mebibytes: int | None) -> int | None:
    """A memory limit as the core takes it. More than it can count is no other limit than the most that it can."""
    return None if mebibytes is None else min(mebibytes * 2**20, MOST)


__all__ = ["MOST", "bytes_of", "check_limits", "check_seed", "check_whole"]
