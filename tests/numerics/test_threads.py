"""The limit to one thread, and when the libraries that it holds for are looked for again."""

import sys
import types

import sklearn.cluster  # noqa: F401  # brings an OpenMP of its own
from threadpoolctl import ThreadpoolController, threadpool_limits

from segvote.numerics import threads
from segvote.numerics.threads import limit_threads


def count_threads():
    return {one["num_threads"] for one in ThreadpoolController().info()}


def test_libraries_have_one_thread_inside_and_theirs_after():
    with threadpool_limits(2):
        assert count_threads() == {2}
        with limit_threads():
            assert count_threads() == {1}
            with limit_threads():
                assert count_threads() == {1}
            assert count_threads() == {1}
        assert count_threads() == {2}


def test_an_import_has_the_libraries_looked_for_again(monkeypatch):
    looked = []
    monkeypatch.setattr(threads, "ThreadpoolController", lambda: looked.append(1) or ThreadpoolController())
    threads._find_libraries.cache_clear()
    for _ in range(3):
        with limit_threads():
            pass
    assert len(looked) == 1
    monkeypatch.setitem(sys.modules, "brings_a_library", types.ModuleType("brings_a_library"))
    with limit_threads():
        pass
    assert len(looked) == 2
    threads._find_libraries.cache_clear()
