"""Errors of models."""

from __future__ import annotations

from misstep.checking.errors import CheckError


class ModelError(CheckError):
    """The model is wrong, does something wrong in a state, or leaves the subset that is supported."""


class OutOfBoundsError(ModelError):
    """An assignment outside the bounds of its variable."""


__all__ = ["ModelError", "OutOfBoundsError"]
