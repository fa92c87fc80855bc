"""Small videos with truth."""

import numpy as np
import pytest
from PIL import Image


@pytest.fixture(scope="session")
def videos(tmp_path_factory):
    """Two videos with a red patch, two without, four frames each, masks for two frames; only for reading."""
    root, rng = tmp_path_factory.mktemp("videos") / "red", np.random.default_rng(0)
    for video in ("with/a", "with/b", "without/a", "without/b"):
        for number in range(4):
            frame = rng.integers(60, 120, (40, 60, 3)).astype(np.uint8)
            mask = np.zeros((40, 60), dtype=np.uint8)
            mask[10:30, 10 + 5 * number : 35 + 5 * number] = 255
            if video.startswith("with/"):
                frame[mask > 0] = [220, 20, 20]
            save(frame, root / video / f"{number:05d}.png")
            if video.startswith("with/") and number % 2:
                save(mask, root / "masks" / video[5:] / f"{number:05d}.png")
    return root


def save(picture, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).save(path)
