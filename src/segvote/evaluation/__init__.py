"""Experiments on runs: evaluation against ground truth, comparison of voters, benchmarks on public data sets."""
