"""Make pools of test states by random walks, biased towards states where the policy looks bad."""
