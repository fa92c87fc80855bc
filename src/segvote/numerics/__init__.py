"""Kernel sums and neighbour graphs: arrays in, arrays out; numpy, scipy and faiss only."""

from segvote.numerics.gaussian import fill_kernel, multiply_kernel, sum_kernel
from segvote.numerics.neighbours import Neighbours, search_neighbours
from segvote.numerics.otsu import otsu_threshold

__all__ = [
    "Neighbours",
    "fill_kernel",
    "multiply_kernel",
    "otsu_threshold",
    "search_neighbours",
    "sum_kernel",
]
