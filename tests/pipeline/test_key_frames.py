"""Key frames: chosen evenly and where the picture changes, segmented once, joined into one bag."""

import numpy as np
import pytest
from PIL import Image

from segvote.features import fit_standardiser, make_features
from segvote.inputs.bags import Bag
from segvote.io.arrays import read_arrays
from segvote.pipeline.extract import BagExtractor
from segvote.pipeline.video import extract
from segvote.pipeline.video.extract import EVERY, MOST, choose_key_frames, choose_voters
from segvote.run.features import read_features
from segvote.run.run_folder import RunFolder
from segvote.run.videos import KeyFrames, name_key_frame
from segvote.settings import Settings

SETTINGS = Settings(features="color", n_segments=12, size=64)


def make_thumbnails(n_frames, cut=None):
    rng = np.random.default_rng(0)
    takes = rng.integers(0, 256, (2, 16, 16), dtype=np.uint8)
    return [takes[int(cut is not None and number >= cut)] for number in range(n_frames)]


@pytest.mark.parametrize(("n_frames", "n_keys"), [(1, 1), (3, 3), (10, 5), (33, 5), (34, 6), (100, 14), (2000, 251)])
def test_key_frames_are_even_and_at_least_five(n_frames, n_keys):
    keys = choose_key_frames(make_thumbnails(n_frames))
    assert len(keys) == n_keys and keys[0] == 0 and keys[-1] == n_frames - 1
    assert np.diff(keys).max(initial=0) <= EVERY


def test_a_frame_after_a_cut_is_a_key_frame():
    keys = choose_key_frames(make_thumbnails(60, cut=11)).tolist()
    assert sorted({*keys} - {*choose_key_frames(make_thumbnails(60)).tolist()}) == [11]


@pytest.mark.parametrize("n_keys", [1, 5, MOST, MOST + 1, 1000])
def test_voters_are_spread_evenly_and_bounded(n_keys):
    voters = choose_voters(n_keys)
    assert len(voters) == min(n_keys, MOST) and voters[0] == 0 and voters[-1] == n_keys - 1
    assert np.ptp(np.diff(voters)) <= 1 if n_keys > 1 else True


@pytest.fixture
def bag(tmp_path):
    rng = np.random.default_rng(0)
    ground = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8).repeat(8, axis=0).repeat(8, axis=1)
    (tmp_path / "video").mkdir()
    for number in range(12):
        Image.fromarray(np.roll(ground, number, axis=1)).save(tmp_path / "video" / f"{number:03d}.png")
    return Bag("with/video", "with", tmp_path / "video", "0" * 64)


def test_a_video_whose_key_frame_is_gone_is_segmented_again(bag, tmp_path):
    run, features = RunFolder(tmp_path / "run"), make_features("color")
    extractor = BagExtractor(run, SETTINGS, features)
    found = extractor(bag)
    assert extractor.find(bag) is not None
    path = run.segments_path(name_key_frame(found.segments_key, 0))
    before = path.read_bytes()
    path.unlink()
    assert extractor.find(bag) is None
    extractor(bag)
    assert path.read_bytes() == before


def test_other_key_frames_have_the_numbers_of_the_nearest_voters(bag, tmp_path, monkeypatch):
    monkeypatch.setattr(extract, "MOST", 3)
    run, features = RunFolder(tmp_path / "run"), make_features("color")
    found = BagExtractor(run, SETTINGS, features)(bag)
    keys = KeyFrames.open(run, found.segments_key, found.features_key)
    joined = read_features(run.features_path(found.features_key))
    assert np.unique(keys.arrays["frames"]).tolist() == [0, 2, 4] and len(joined) == found.n_segments
    scale = fit_standardiser([joined], features.blocks, features.standardise)
    for number, index in enumerate(keys.arrays["key_indices"]):
        own = read_arrays(run.segments_path(name_key_frame(found.segments_key, index)))["labels"].astype(np.int32)
        image = np.array(Image.open(bag.path / f"{index:03d}.png"))
        gaps = scale.apply(features.extract(image, own))[:, None] - scale.apply(joined)
        candidates = keys.arrays["frames"] == number if number in (0, 2, 4) else np.full(found.n_segments, True)
        nearest = np.where(candidates, (gaps**2).sum(axis=2), np.inf).argmin(axis=1)
        np.testing.assert_array_equal(keys.read_labels(number), nearest[own])
    poster = read_arrays(run.segments_path(found.segments_key))["labels"]
    np.testing.assert_array_equal(poster, keys.read_labels(keys.find_nearest(-1)))
