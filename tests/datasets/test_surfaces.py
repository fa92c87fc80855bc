"""Surfaces with small defects: the area asked for, masks exact to the pixel, the same bytes for the same seed."""

import numpy as np
import pytest

from segvote.datasets import DEFECTS, make_surfaces, write_scenes
from segvote.datasets.surfaces import make_surface
from segvote.errors import BadInputError, UnknownNameError

SMALL = 256
kinds = pytest.mark.parametrize("kind", DEFECTS)


@kinds
@pytest.mark.parametrize("ground", ["brick", "grass", "gravel", "sand"])
def test_the_mask_is_exactly_the_damage(kind, ground):
    whole, none = make_surface("with", 0, 3, None, ground, SMALL)
    image, mask = make_surface("with", 0, 3, kind, ground, SMALL)
    changed = (whole != image).any(axis=2)
    assert not none.any() and not changed[~mask].any()
    assert changed[mask].mean() > 0.9  # damage may leave a pixel the colour that it had


@kinds
def test_area_is_within_bounds_and_off_the_border(kind):
    for scene in make_surfaces(4, 0, seed=2, kind=kind, size=SMALL):
        assert 0.001 - 1 / SMALL**2 <= scene.mask.mean() <= 0.005 + 1 / SMALL**2
        assert not np.concatenate([scene.mask[0], scene.mask[-1], scene.mask[:, 0], scene.mask[:, -1]]).any()


def test_a_surface_does_not_depend_on_the_number_of_others():
    few, many = list(make_surfaces(2, 1, seed=4, size=SMALL)), list(make_surfaces(3, 2, seed=4, size=SMALL))
    assert np.array_equal(few[1].image, many[1].image)
    assert np.array_equal(few[2].image, many[3].image)


def test_the_same_seed_writes_the_same_bytes(tmp_path):
    for name, seed in (("one", 5), ("two", 5), ("other", 6)):
        write_scenes(tmp_path / name, make_surfaces(2, 1, seed, kind="crack", size=SMALL))
    files = [path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.png")]
    assert len(files) == 5
    for path in files:
        content = (tmp_path / "one" / path).read_bytes()
        assert content == (tmp_path / "two" / path).read_bytes()
        assert content != (tmp_path / "other" / path).read_bytes()


@pytest.mark.parametrize(
    ("style", "error"),
    [
        ({"size": 32}, BadInputError),
        ({"area": (0.3, 0.1)}, BadInputError),
        ({"area": (0.0, 0.001)}, BadInputError),
        ({"area": (0.01, 0.2)}, BadInputError),
        ({"kind": "dent"}, UnknownNameError),
        ({"ground": "steel"}, UnknownNameError),
    ],
)
def test_a_bad_style_is_an_error(style, error):
    with pytest.raises(error):
        next(make_surfaces(1, 0, **style))
