"""Runs of a policy: many at once over the policy graph, or one, step by step."""
