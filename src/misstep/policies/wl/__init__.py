"""Weisfeiler-Leman rankers and heuristics in wlplan's file format, evaluated by the native core."""

from misstep.policies.wl.policy import WlPolicy, load

__all__ = ["WlPolicy", "load"]
