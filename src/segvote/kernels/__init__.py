"""Kernel sums and neighbour graphs: arrays in, arrays out; numpy, scipy and faiss only."""

from segvote.kernels.gaussian import KernelMatrix, sum_kernel
from segvote.kernels.neighbours import build_vote_graph, search_neighbours, search_with_recall
from segvote.kernels.otsu import otsu_threshold

__all__ = [
    "KernelMatrix",
    "build_vote_graph",
    "otsu_threshold",
    "search_neighbours",
    "search_with_recall",
    "sum_kernel",
]
