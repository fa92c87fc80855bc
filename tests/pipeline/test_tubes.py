"""Supervoxels of videos: slices vote, tubes decide, frames have the segments of their tubes."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from segvote import annotate, evaluate, predict
from segvote.io.arrays import read_arrays
from segvote.method.table import Geometry, make_table
from segvote.pipeline.corrected_vote import vote
from segvote.pipeline.opening import reopen
from segvote.pipeline.video import tubes as tubes_module
from segvote.pipeline.video.draw import carry_frames, read_frame_labels
from segvote.pipeline.video.tubes import TubeMaps, cut_slices, decide_tubes
from segvote.run.videos import KeyFrames, name_key_frame, name_tubes
from segvote.selection import Selection
from segvote.settings import Settings

SETTINGS = Settings(features="color", n_segments=20, size=96, segmenter="supervoxels", frames="video")
N_FRAMES = 12


def write_video(folder, seed, shows_object, masks=None):
    """A red square walks over a ground of blue and green blocks."""
    rng = np.random.default_rng(seed)
    ground = (rng.integers(40, 200, (6, 8, 3)) * [0.2, 1, 1]).repeat(12, axis=0).repeat(12, axis=1).astype(np.uint8)
    for t in range(N_FRAMES):
        frame, mask = ground.copy(), np.zeros((72, 96), bool)
        if shows_object:
            mask[24:48, 12 + 4 * t : 36 + 4 * t] = True
            frame[mask] = [220, 20, 20]
        for path, picture in ((folder, frame), (masks, mask)):
            if path is not None:
                path.mkdir(parents=True, exist_ok=True)
                Image.fromarray(picture).save(path / f"{t:05d}.png")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("tubes")
    for seed in range(3):
        write_video(root / f"with/v{seed}", seed, True, root / f"masks/v{seed}")
        write_video(root / f"without/n{seed}", 10 + seed, False)
    return root


@pytest.fixture(scope="module")
def run(data):
    return annotate(data / "with", data / "without", data / "out", SETTINGS, n_jobs=1)


@pytest.fixture(scope="module")
def keys(run):
    bag = run.bags[run.find("with/v0")]
    return KeyFrames.open(run.folder, bag.segments, bag.features)


def test_the_object_is_found_in_every_frame(run, data):
    found = evaluate(run, data / "masks").to_dict()
    assert found["frame_miou"] > 0.8 and found["video_corloc"] == 1


def test_slices_have_the_geometry_of_their_key_frame(run, keys):
    segments = run.read_segments(run.find("with/v0"))
    table = reopen(run).table
    assert table.n_images > len(table.bag_labels)  # key frames vote, not the video as one image
    assert len(segments["tubes"]) == len(segments["areas"])
    for number, index in enumerate(segments["key_indices"].tolist()):
        arrays = read_arrays(run.folder.segments_path(name_key_frame(keys.key, index)))
        np.testing.assert_array_equal(np.bincount(arrays["labels"].ravel()), arrays["areas"])
        whole = read_arrays(run.folder.segments_path(name_tubes(keys.key, index)))["labels"]
        np.testing.assert_array_equal(arrays["tubes"][arrays["labels"]], whole)
        assert (segments["areas"][segments["frames"] == number].sum()) == whole.size


def test_all_slices_of_a_tube_are_decided_alike(run):
    inputs = reopen(run)
    selection = vote(inputs).selection
    scores, selected = selection.scores, selection.selected
    for tube in np.unique(inputs.tubes):
        rows = inputs.tubes == tube
        assert len(set(selected[rows])) == 1
        np.testing.assert_allclose(scores[rows], scores[rows][0])


def test_frames_show_the_nearest_slice_of_each_tube(run, keys, data):
    maps, segments = TubeMaps.open(keys), run.read_segments(run.find("with/v0"))
    for frame in (0, 1, 5, N_FRAMES - 1):
        labels = maps.read_labels(frame)
        whole = read_arrays(run.folder.segments_path(name_tubes(keys.key, frame)))["labels"]
        known = np.isin(whole, segments["tubes"])
        np.testing.assert_array_equal(segments["tubes"][labels][known], whole[known])
        for tube in np.unique(whole[known]):
            gaps = np.abs(segments["key_indices"][segments["frames"][segments["tubes"] == tube]] - frame)
            used = segments["frames"][labels[whole == tube][0]]
            assert abs(segments["key_indices"][used] - frame) == gaps.min()
        np.testing.assert_array_equal(read_frame_labels(keys, data / "with/v0", frame), labels)
    carried = list(carry_frames(keys, data / "with/v0"))
    assert len(carried) == N_FRAMES and all(one.step is None for one in carried)


def test_a_tube_between_key_frames_has_the_segments_around_it(keys):
    maps = TubeMaps.open(keys)
    empty = replace(maps, tubes=maps.tubes + 10_000)
    np.testing.assert_array_equal(empty.read_labels(0), keys.read_labels(0))


def test_a_repeated_run_segments_nothing(run, data, monkeypatch):
    def fail(*_):
        raise AssertionError("tubes are in the run folder")

    monkeypatch.setattr(tubes_module, "stream_supervoxels", fail)
    again = annotate(data / "with", data / "without", data / "out", replace(SETTINGS, label="square"), n_jobs=1)
    np.testing.assert_array_equal(again.votes["scores"], run.votes["scores"])


def test_new_videos_are_predicted_by_tubes(run, data, tmp_path):
    # One of the three *without* videos scores high where it had no part in the vote: a lower rate would refuse all.
    found = predict(run.folder.path, data / "with", tmp_path / "new", false_positive_rate=0.6, n_jobs=1)
    assert [one.contains for one in found.images] == [True] * 3
    assert all(0.02 < one.area < 0.2 for one in found.images)


def make_case(seed=0):
    """Two *with* videos of three key frames, one *without* image; eight segments in each."""
    rng = np.random.default_rng(seed)
    images, bags = np.repeat(np.arange(7), 8), np.array([0, 0, 0, 1, 1, 1, 2])
    positive = bags < 2
    table = make_table(
        rng.normal(size=(56, 2)), positive, images, Geometry(areas=rng.integers(1, 9, 56).astype(float)), bags
    )
    tubes = np.where(images < 6, bags[images] * 10 + rng.integers(0, 10, 56), -1)
    scores = rng.normal(size=56)
    selection = Selection(
        offsets=table.offsets,
        unsmoothed=scores,
        scores=scores,
        selected=(scores > 0) & positive[images],
        user_labels=np.full(56, -1, np.int8),
        thresholds=rng.normal(0, 0.3, 7),
        uncertainty=np.zeros(7),
        empty=np.zeros(7, bool),
        extent=np.full(7, 2),
    )
    return SimpleNamespace(table=table, tubes=tubes, selection=selection)


@pytest.mark.parametrize("seed", range(3))
def test_a_tube_is_object_by_its_mean_above_the_thresholds(seed):
    case = make_case(seed)
    table, selection = case.table, case.selection
    found = decide_tubes(table, selection, case.tubes)
    for tube in np.unique(case.tubes[case.tubes >= 0]):
        rows = np.flatnonzero(case.tubes == tube)
        gaps = selection.scores[rows] - selection.thresholds[table.images[rows]]
        mean = (gaps * table.areas[rows]).sum() / table.areas[rows].sum()
        np.testing.assert_allclose(found.scores[rows] - selection.thresholds[table.images[rows]], mean)
        if mean > 0:
            assert found.selected[rows].all()
    np.testing.assert_array_equal(found.scores[case.tubes < 0], selection.scores[case.tubes < 0])
    assert not found.selected[case.tubes < 0].any()


def test_user_labels_hold_in_the_whole_tube():
    case = make_case()
    sizes = np.bincount(case.tubes[case.tubes >= 0])
    tube, mixed = np.flatnonzero(sizes >= 2)[:2]
    labels = case.selection.user_labels.copy()
    labels[np.flatnonzero(case.tubes == tube)[0]] = 0
    labels[np.flatnonzero(case.tubes == mixed)[:2]] = [0, 1]
    found = decide_tubes(case.table, replace(case.selection, user_labels=labels), case.tubes)
    assert not found.selected[case.tubes == tube].any()
    assert (found.user_labels[case.tubes == tube] == 0).all()
    assert found.user_labels[case.tubes == mixed][:2].tolist() == [0, 1]
    assert (found.user_labels[case.tubes == mixed][2:] == -1).all()


def test_a_video_keeps_a_tube_unless_it_had_no_selection():
    case = make_case()
    low = replace(case.selection, scores=case.selection.scores - 100)
    found = decide_tubes(case.table, low, case.tubes).selected
    best = [len(set(case.tubes[found & (case.table.bags == bag)])) for bag in (0, 1)]
    assert best == [1, 1]
    nothing = replace(low, selected=np.zeros(56, bool))
    assert not decide_tubes(case.table, nothing, case.tubes).selected.any()


def test_slices_are_numbered_without_gaps():
    tubes = np.repeat([[7, 3, 900]], 4, axis=0).repeat(5, axis=1)
    found = cut_slices(np.zeros((4, 15, 3), np.uint8), tubes, (8, 30))
    assert found["tubes"].tolist() == [3, 7, 900] and found["areas"].tolist() == [20, 20, 20]
    assert found["shape"].tolist() == [8, 30] and len(found["parents"]) == 5
