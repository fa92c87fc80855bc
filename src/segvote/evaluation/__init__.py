"""Experiments on runs: truth, comparisons, benchmarks; diagnosis and explanation."""
