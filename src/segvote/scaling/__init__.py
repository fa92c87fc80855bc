"""The same steps on Dask: more processes, or more machines, and the same bytes; loads dask only when it is used."""

from segvote.scaling.cluster import Cluster, open_cluster

__all__ = ["Cluster", "open_cluster"]
