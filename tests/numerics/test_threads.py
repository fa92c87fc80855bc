"""Products by one thread each, and parts of a computation by several."""

from threading import Barrier, Thread

import numpy as np  # noqa: F401  a limit is that of libraries which are loaded
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from segvote.numerics.threads import map_in_threads, use_one_thread


def count_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_results_stand_in_the_order_of_the_items():
    assert map_in_threads(lambda one: one**2, range(100)) == [one**2 for one in range(100)]


def test_errors_come_out_and_lift_the_limit():
    before = count_threads()
    with pytest.raises(ZeroDivisionError):
        map_in_threads(lambda one: 1 // one, [1, 0])
    assert count_threads() == before


def test_the_first_to_end_does_not_lift_the_limit_of_another():
    """Two limits of threadpoolctl that overlap, in two threads, would restore each other's numbers."""
    with threadpool_limits(2):
        entered, left, seen = Barrier(2), Barrier(2), []

        def end_first():
            with use_one_thread():
                entered.wait()
            left.wait()

        thread = Thread(target=end_first)
        thread.start()
        with use_one_thread():
            entered.wait()
            left.wait()
            seen = count_threads()
        thread.join()
        assert set(seen) == {1} and set(count_threads()) == {2}
