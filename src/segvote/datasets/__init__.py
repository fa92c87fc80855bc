"""Data sets: public ones on disk as bags with truth, and synthetic ones that need no download.

`DATASETS` maps names to loaders ``load_*(root, class_name=None) -> DataSet``: `root` is the unpacked data set or the
folder around it, `class_name` one class or None for all on disk.
"""

from segvote.datasets.bags import make_bags
from segvote.datasets.base import DataItem, DataSet
from segvote.datasets.scenes import Scene, make_scenes, write_scenes
from segvote.datasets.surfaces import DEFECTS, make_surfaces
from segvote.registry import Registry

__all__ = [
    "DATASETS",
    "DEFECTS",
    "DataItem",
    "DataSet",
    "Scene",
    "make_bags",
    "make_scenes",
    "make_surfaces",
    "write_scenes",
]

DATASETS = Registry(
    "data set",
    {
        "coseg": "segvote.datasets.coseg:load_coseg",
        "davis": "segvote.datasets.public:load_davis",
        "jain-grauman": "segvote.datasets.public:load_jain_grauman",
        "neutral": "segvote.datasets.neutral:load_neutral",
        "pittcar": "segvote.datasets.neutral:load_pittcar",
        "tang-segments": "segvote.datasets.tang:load_tang",
        "youtube-objects-v1.0": "segvote.datasets.public:load_youtube_objects_v1",
        "youtube-objects-v2.2": "segvote.datasets.public:load_youtube_objects_v22",
        "youtube-objects-v2.3": "segvote.datasets.public:load_youtube_objects_v23",
    },
)
