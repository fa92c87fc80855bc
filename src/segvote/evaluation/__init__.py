"""Experiments on runs: truth, comparisons, benchmarks."""
