"""Campaigns: the stored results of testing a policy, complete enough to check and reproduce all of them."""
