"""Campaigns: what testing a policy found, kept so that nothing is lost and everything can be computed again."""
