"""Policies for models, one file for each kind. `misstep.policies.load.load_policy` loads them."""
