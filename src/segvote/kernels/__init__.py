"""Kernel sums and neighbour graphs: arrays in, arrays out; numpy, scipy and faiss only."""

from segvote.kernels.gaussian import fill_kernel, multiply_kernel, sum_kernel
from segvote.kernels.neighbours import Neighbours, search_neighbours
from segvote.kernels.otsu import otsu_threshold

__all__ = [
    "Neighbours",
    "fill_kernel",
    "multiply_kernel",
    "otsu_threshold",
    "search_neighbours",
    "sum_kernel",
]
