"""Products by one thread each, and parts of a computation by several."""

import os
import subprocess
import sys

import pytest

from segvote.numerics.threads import map_in_threads

# In a process of its own: the tests run with one thread for each product anyway.
OVERLAP = """
from threading import Barrier, Thread

import numpy
from threadpoolctl import threadpool_info

from segvote.numerics.threads import map_in_threads, use_one_thread

def count_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

def fail(one):
    return 1 // one

before, entered, left = count_threads(), Barrier(2), Barrier(2)
try:
    map_in_threads(fail, [1, 0])
except ZeroDivisionError:
    print("after an error", count_threads() == before)

def end_first():
    with use_one_thread():
        entered.wait()
        entered.wait()
    left.wait()

thread = Thread(target=end_first)
thread.start()
entered.wait()
with use_one_thread():
    entered.wait()
    left.wait()
    print("while one is left", count_threads() == {1})
thread.join()
"""


def test_results_stand_in_the_order_of_the_items():
    assert map_in_threads(lambda one: one**2, range(100)) == [one**2 for one in range(100)]


def test_an_error_in_a_thread_comes_out():
    with pytest.raises(ZeroDivisionError):
        map_in_threads(lambda one: 1 // one, [1, 0])


def test_the_first_to_end_does_not_lift_the_limit_of_another():
    """Two limits of threadpoolctl that overlap, in two threads, would lift each other."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "2")
    run = subprocess.run([sys.executable, "-c", OVERLAP], env=os.environ | threads, capture_output=True, text=True)
    assert run.stdout == "after an error True\nwhile one is left True\n", run.stderr
