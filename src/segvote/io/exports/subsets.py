"""Which images train and which validate: dealt one at a time, so that the number of images need not be known."""

from __future__ import annotations

import math

from segvote.types import Annotation

TRAIN, VAL = "train", "val"


class Split:
    """Deals annotations to ``train`` and ``val``, images with and without objects each in the same proportion.

    Frames of a video stay together: its neighbouring frames are nearly the same picture.

    Parameters
    ----------
    share : float
        Share of the images for ``val``, at least 0 and less than 1; 0: no split.
    whole : str
        Name of the only subset where there is no split.
    """

    def __init__(self, share: float, whole: str = TRAIN) -> None:
        self.names = (TRAIN, VAL) if share else (whole,)
        self.counts = dict.fromkeys(self.names, 0)
        self._share = share
        self._n_seen = {True: 0, False: 0}
        self._videos: dict[str, str] = {}

    def choose(self, annotation: Annotation) -> str:
        """The subset of the next annotation."""
        video = str(annotation.properties.get("video", ""))
        subset = self._videos.get(video) or self._deal(bool(annotation.parts))
        if video:
            self._videos[video] = subset
        self.counts[subset] += 1
        return subset

    def _deal(self, has_objects: bool) -> str:
        """For a share of 0.2 the third, the eighth, …: three images are enough for one to validate."""
        number = self._n_seen[has_objects]
        self._n_seen[has_objects] += 1
        is_next = math.floor((number + 1) * self._share + 0.5) > math.floor(number * self._share + 0.5)
        return self.names[int(is_next)]
