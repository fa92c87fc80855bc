"""Kernel sums and neighbour graphs: arrays in, arrays out; numpy, scipy and faiss only."""

from segvote.kernels.gaussian import KernelMatrix, sum_kernel
from segvote.kernels.neighbours import Neighbours, build_vote_graph, search_neighbours, search_with_recall
from segvote.kernels.otsu import otsu_threshold
from segvote.kernels.sampled import SampledKernel, make_kernel

__all__ = [
    "KernelMatrix",
    "Neighbours",
    "SampledKernel",
    "build_vote_graph",
    "make_kernel",
    "otsu_threshold",
    "search_neighbours",
    "search_with_recall",
    "sum_kernel",
]
