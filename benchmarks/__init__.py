"""Benchmarks: each module prints one JSON object; only ratios within one run mean anything."""
