"""Generalised plans as Python programs, `program:FILE.py`."""

from misstep.policies.program.policy import ProgramPolicy, load

__all__ = ["ProgramPolicy", "load"]
