"""Policies over the labels of JANI tasks: `load_label_policy`, and one file for each kind."""

from misstep.safety.policies.handle import LabelPolicyHandle
from misstep.safety.policies.load import BUILTIN, load_label_policy

__all__ = ["BUILTIN", "LabelPolicyHandle", "load_label_policy"]
