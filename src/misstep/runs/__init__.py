"""Run a policy: many runs at once over the policy graph, or one run step by step."""
