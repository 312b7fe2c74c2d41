"""Policies and campaigns side by side: what is fixed, still there or new; families of bugs; smallest failing tasks."""
