"""Sizes of batches, and what a task does with one; see test_scheduler.py for workers of Dask."""

import pytest

from segvote.pipeline import cluster
from segvote.pipeline.cluster import Batch, BatchSizes, _call_batch


def list_sizes(n_items, n_threads, seconds):
    """Sizes of all batches, if each is timed before the next one is submitted."""
    sizes, found = BatchSizes(), []
    while sum(found) < n_items:
        found.append(min(sizes.choose(n_items - sum(found), n_threads), n_items - sum(found)))
        sizes.note(seconds)
    return found


def test_the_first_batch_is_one_item_and_later_ones_double():
    assert list_sizes(10_000, 4, 0.01)[:6] == [1, 2, 4, 8, 16, 32]


@pytest.mark.parametrize("seconds", [0.001, 0.05, 1.0, 60.0])
def test_a_task_takes_some_seconds_and_few_items(seconds):
    sizes = list_sizes(20_000, 4, seconds)
    assert sum(sizes) == 20_000
    assert max(sizes) == max(1, min(int(cluster.TASK_SECONDS / seconds), cluster.MOST_ITEMS))


def test_more_workers_get_longer_tasks():
    assert max(list_sizes(200_000, 1000, 0.2)) == 30


@pytest.mark.parametrize(("n_items", "n_threads"), [(12, 4), (100, 4), (400, 16)])
def test_no_worker_waits_long_for_another_at_the_end(n_items, n_threads):
    sizes = list_sizes(n_items, n_threads, 0.5)
    assert max(sizes) <= max(1, n_items / (cluster.SHARES * n_threads))
    assert len(sizes) >= min(n_items, cluster.SHARES * n_threads) and sizes[-1] == 1


def test_a_batch_ends_before_an_item_that_fails():
    def work(item):
        if item == 3:
            raise ValueError(f"{item} is bad")
        return -item

    assert _call_batch(work, Batch([1, 2, 3, 4])).results == [-1, -2]
    with pytest.raises(ValueError, match="3 is bad"):
        _call_batch(work, Batch([3, 4]))


class Counter:
    """A function that has done the items below 3."""

    def __init__(self):
        self.called = []

    def __call__(self, item):
        self.called.append(item)
        return item

    def find_finished(self, items):
        return [item for item in items if item < 3]


def test_items_that_were_done_are_not_done_again():
    count = Counter()
    done = _call_batch(count, Batch([1, 2, 3, 4]))
    assert done.results == [1, 2, 3, 4] and count.called == [3, 4]
    assert _call_batch(count, Batch([1, 2])).results == [1, 2] and count.called == [3, 4]
