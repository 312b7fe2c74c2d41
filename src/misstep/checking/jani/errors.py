"""Errors of models."""

from __future__ import annotations

from misstep.checking.errors import CheckError
from misstep.errors import UnsupportedError


class ModelError(CheckError):
    """The model is wrong, or does something wrong in a state."""


class UnsupportedModelError(ModelError, UnsupportedError):
    """The model may be right, but the checker cannot decide."""

    exit_code = UnsupportedError.exit_code


class OutOfBoundsError(ModelError):
    """An assignment outside the bounds of its variable."""


__all__ = ["ModelError", "OutOfBoundsError", "UnsupportedModelError"]
