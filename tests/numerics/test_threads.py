"""Products by one thread each, and parts of a computation by several."""

import os
import subprocess
import sys
import types
from time import sleep

import pytest
from threadpoolctl import ThreadpoolController

from segvote.numerics import threads
from segvote.numerics.threads import MOST_NUMBERS, call_both, map_in_threads, use_one_thread

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
    two = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "2")
    run = subprocess.run([sys.executable, "-c", OVERLAP], env=os.environ | two, capture_output=True, text=True)
    assert run.stdout == "after an error True\nwhile one is left True\n", run.stderr


@pytest.mark.parametrize("n_numbers", [0, MOST_NUMBERS])
def test_both_results_come_whether_at_once_or_in_turn(n_numbers):
    assert call_both(lambda: 1, lambda: "two", n_numbers) == (1, "two")


def test_large_parts_take_turns():
    running, most = [], []

    def work(one):
        running.append(one)
        most.append(len(running))
        sleep(0.01)
        running.remove(one)

    map_in_threads(work, range(5), MOST_NUMBERS)
    assert max(most) == 1


def test_an_import_has_the_libraries_looked_for_again(monkeypatch):
    looked = []
    monkeypatch.setattr(threads, "ThreadpoolController", lambda: looked.append(1) or ThreadpoolController())
    threads._find_libraries.cache_clear()
    for _ in range(3):
        with use_one_thread():
            pass
    assert len(looked) == 1
    monkeypatch.setitem(sys.modules, "brings_a_library", types.ModuleType("brings_a_library"))
    with use_one_thread():
        pass
    assert len(looked) == 2
    threads._find_libraries.cache_clear()
