"""Fakes of public data sets: a few tiny files in exactly the layout of the real ones."""

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def write_picture():
    """Write a picture, making its folders: an array, or a plain colour."""

    def write(path, pixels=(90, 120, 60), size=(24, 18), **options):
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(pixels, tuple):
            Image.new("RGB", size, pixels).save(path, **options)
        else:
            Image.fromarray(pixels).save(path, **options)
        return path

    return write


@pytest.fixture
def half_mask():
    """(18, 24) bool: the left half."""
    mask = np.zeros((18, 24), dtype=bool)
    mask[:, :12] = True
    return mask
