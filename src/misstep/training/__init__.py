"""Training of policies, tests inside it, and the choice among the results."""
