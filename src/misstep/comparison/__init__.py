"""Compare policies and campaigns: which bugs are fixed, still there or new; families of bugs; small failing tasks."""
