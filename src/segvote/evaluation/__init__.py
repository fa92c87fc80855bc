"""Experiments on runs: truth, comparisons, stress curves, benchmarks; diagnosis and explanation."""
