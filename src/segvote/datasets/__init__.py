"""Data sets: public ones on disk as bags with truth, and made ones that need no download.

`DATASETS` maps names to loaders ``load_*(root, class_name=None, ...) -> DataSet``.
"""

from segvote.datasets.bags import make_bags
from segvote.datasets.base import DataItem, DataSet
from segvote.datasets.scenes import Scene, make_scenes, write_scenes
from segvote.datasets.surfaces import DEFECTS, make_surfaces, write_surfaces
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
    "write_surfaces",
]

DATASETS = Registry(
    "data set",
    {
        "camvid": "segvote.datasets.photographs:load_camvid",
        "davis": "segvote.datasets.videos:load_davis",
        "jain-grauman": "segvote.datasets.youtube:load_jain_grauman",
        "labelmefacade": "segvote.datasets.photographs:load_labelmefacade",
        "msrc-v2": "segvote.datasets.photographs:load_msrc_v2",
        "neutral": "segvote.datasets.neutral:load_neutral",
        "oxford-pets": "segvote.datasets.photographs:load_oxford_pets",
        "pittcar": "segvote.datasets.neutral:load_pittcar",
        "tang-segments": "segvote.datasets.youtube:load_tang",
        "weizmann-horses": "segvote.datasets.photographs:load_weizmann_horses",
        "youtube-objects-v1.0": "segvote.datasets.youtube:load_youtube_objects_v1",
        "youtube-objects-v2.2": "segvote.datasets.youtube:load_youtube_objects_v22",
        "youtube-objects-v2.3": "segvote.datasets.youtube:load_youtube_objects_v23",
    },
)
