"""Kernel sums and neighbour graphs: arrays in, arrays out; numpy, scipy and faiss only."""

from segvote.kernels.gaussian import KernelMatrix, sum_kernel
from segvote.kernels.neighbours import build_vote_graph, search_neighbours

__all__ = ["KernelMatrix", "build_vote_graph", "search_neighbours", "sum_kernel"]
