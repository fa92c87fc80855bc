"""Kernel sums and neighbour graphs: arrays in, arrays out; numpy, scipy and faiss only."""

from segvote.kernels.gaussian import KernelMatrix, sum_kernel
from segvote.kernels.neighbours import build_vote_graph, measure_recall, search_neighbours
from segvote.kernels.otsu import otsu_threshold

__all__ = ["KernelMatrix", "build_vote_graph", "measure_recall", "otsu_threshold", "search_neighbours", "sum_kernel"]
