"""P24's weightedSelect."""

from __future__ import annotations

from misstep._core import weighted_select

__all__ = ["weighted_select"]
