"""Metamorphic oracles: what is known of one state says something about others, without any planning (P23)."""
