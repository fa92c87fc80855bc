"""Voters that compare kernel densities of the two kinds of bags, or spread labels along kernels."""
