"""Data sets: public ones on disk as bags with truth, and made ones that need no download."""

from segvote.datasets.bags import make_bags
from segvote.datasets.scenes import Scene, SceneStyle, make_scenes, write_scenes

__all__ = ["Scene", "SceneStyle", "make_bags", "make_scenes", "write_scenes"]
