"""Lifted rule policies in a small text format of ours, `rules:FILE`."""

from misstep.policies.rules.language import Condition, Equal, Exists, Holds, Rule, RuleSet
from misstep.policies.rules.parse import parse_rules
from misstep.policies.rules.policy import RulePolicy, load

__all__ = [
    "Condition",
    "Equal",
    "Exists",
    "Holds",
    "Rule",
    "RulePolicy",
    "RuleSet",
    "load",
    "parse_rules",
]
