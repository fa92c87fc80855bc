"""Workers of Dask for the tests of a module."""

import importlib

import pytest


@pytest.fixture(scope="module")
def address():
    """Address of a scheduler with two workers."""
    distributed = pytest.importorskip("distributed")
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": 0, "silence_logs": 50}
    # A busy machine starts processes slowly.
    with (
        importlib.import_module("dask").config.set({"distributed.comm.timeouts.connect": "60s"}),
        distributed.LocalCluster(n_workers=2, host="127.0.0.1", **options) as started,
    ):
        yield started.scheduler_address
