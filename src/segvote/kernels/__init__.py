"""Kernel sums and neighbour graphs: arrays in, arrays out; numpy, scipy and faiss only."""

from segvote.kernels.gaussian import fill_kernel, multiply_kernel, sum_kernel
from segvote.kernels.neighbours import Neighbours, build_vote_graph, search_neighbours, search_with_recall
from segvote.kernels.otsu import otsu_threshold

__all__ = [
    "Neighbours",
    "build_vote_graph",
    "fill_kernel",
    "multiply_kernel",
    "otsu_threshold",
    "search_neighbours",
    "search_with_recall",
    "sum_kernel",
]
