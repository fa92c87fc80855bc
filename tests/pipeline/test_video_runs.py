"""Videos go through the main job like images: an object that moves is found, frame by frame."""

import json
import shutil
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("av")

from segvote import annotate, evaluate, predict, progress
from segvote.cli.annotate import print_outcome
from segvote.errors import BadInputError
from segvote.io.masks import read_mask
from segvote.io.video.files import open_film_writer
from segvote.io.video.reading import VideoStream, read_ahead
from segvote.pipeline.corrected_vote import vote
from segvote.pipeline.explain import explain_segment
from segvote.pipeline.opening import reopen
from segvote.pipeline.video import write
from segvote.run.run import Run
from segvote.settings import Settings

HEIGHT, WIDTH, N_FRAMES = 72, 96, 10
SETTINGS = Settings(features="color", n_segments=20, size=96)


def make_frames(seed, shows_object):
    """Frames and masks: a red square walks over a ground of blue and green blocks."""
    rng = np.random.default_rng(seed)
    ground = rng.integers(40, 200, (HEIGHT // 12, WIDTH // 12, 3)) * [0.2, 1, 1]
    ground = ground.repeat(12, axis=0).repeat(12, axis=1).astype(np.uint8)
    for t in range(N_FRAMES):
        frame, mask = ground.copy(), np.zeros((HEIGHT, WIDTH), bool)
        if shows_object:
            mask[24:48, 12 + 4 * t : 36 + 4 * t] = True
            frame[mask] = [220, 20, 20]
        yield frame, mask


def write_frames(folder, arrays):
    folder.mkdir(parents=True)
    for index, array in enumerate(arrays):
        Image.fromarray(array).save(folder / f"{index:05d}.png")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two folders of frames and a film with the object; one of each and an image without."""
    root = tmp_path_factory.mktemp("videos")
    for seed in range(2):
        frames, masks = zip(*make_frames(seed, True), strict=True)
        write_frames(root / f"with/v{seed}", frames)
        write_frames(root / f"masks/v{seed}", masks)
    frames, masks = zip(*make_frames(2, True), strict=True)
    write_frames(root / "masks/film", masks)
    write_frames(root / "without/n0", [frame for frame, _ in make_frames(10, False)])
    for path, film in [
        (root / "with/film.mp4", frames),
        (root / "without/n1.mp4", [f for f, _ in make_frames(11, False)]),
    ]:
        with open_film_writer(path) as writer:
            for number, frame in enumerate(film):
                writer.write(frame, number / 25)
    Image.fromarray(next(iter(make_frames(12, False)))[0]).save(root / "without/photo.png")
    return root


@pytest.fixture(scope="module")
def reports():
    return []


@pytest.fixture(scope="module")
def run(data, reports):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "PAUSE", 0.001)
        return annotate(
            data / "with",
            data / "without",
            data / "out",
            SETTINGS,
            n_jobs=1,
            progress=lambda *report: reports.append(report),
        )


@pytest.mark.parametrize(("name", "n_all"), [("draw frames", 5 * N_FRAMES), ("key frames", 5 * 5)])
def test_frames_are_counted_while_they_are_worked_on(run, reports, name, n_all):
    counts = [done for step, done, total in reports if step == name and total == n_all]
    assert counts == sorted(counts) and counts[-1] == n_all
    assert any(0 < count < n_all for count in counts)


def test_the_object_is_found_in_every_video(run, data):
    evaluation = evaluate(run, data / "masks")
    figures = evaluation.to_dict()
    assert figures["n_videos"] == 3
    assert figures["video_corloc"] == 1
    assert figures["frame_miou"] > 0.8
    assert figures["limit_miou"] > 0.8
    assert {image.name for image in evaluation.images} == {"with/v0", "with/v1", "with/film.mp4"}


def test_key_frames_have_the_geometry_of_images(run):
    segments = run.read_segments(run.find("with/v0"))
    n_segments, edges = len(segments["areas"]), segments["edges"]
    assert segments["key_indices"].tolist() == [0, 2, 4, 7, 9]
    np.testing.assert_array_equal(np.unique(segments["frames"]), range(5))
    np.testing.assert_array_equal(segments["frames"][edges[:, 0]], segments["frames"][edges[:, 1]])
    assert len(segments["colours"]) == n_segments and len(segments["lengths"]) == len(edges)
    assert len(segments["parents"]) == 2 * n_segments - 1
    table = reopen(run).table
    assert np.isfinite(table.contrasts).all()
    np.testing.assert_array_equal(np.bincount(table.image_bags), [5, 5, 5, 5, 5, 1])


def test_thresholds_of_key_frames_become_one_of_the_video(run):
    run_vote = vote(reopen(run))
    result, first = run_vote.selection, run_vote.base.selection
    table = run_vote.inputs.table
    assert len(first.thresholds) == 26 and len(result.thresholds) == len(run)
    np.testing.assert_array_equal(result.selected, first.selected)
    above = result.scores > result.thresholds[table.bags]
    np.testing.assert_array_equal(above, first.scores > first.thresholds[table.images])
    explained = explain_segment(run_vote, run.find("with/v1"), 3)
    total = sum(line.amount for line in explained.lines) + explained.constant
    assert total == pytest.approx(explained.score)


def test_every_frame_has_a_mask_of_its_size_and_name(run):
    for stem in ("v0", "film"):
        paths = sorted((run.folder.path / "masks/with" / stem).iterdir())
        assert [path.name for path in paths] == [f"{index:05d}.png" for index in range(N_FRAMES)]
        assert read_mask(paths[3]).shape == (HEIGHT, WIDTH)
    assert len(list(VideoStream(run.folder.path / "films/with/v0.mp4"))) == N_FRAMES
    without = [read_mask(path) for path in (run.folder.path / "masks/without/n0").iterdir()]
    assert len(without) == N_FRAMES and not np.any(without)


def test_coco_lists_every_frame_with_its_track(run):
    coco = json.loads(run.folder.coco_path.read_text())
    assert len(coco["images"]) == 5 * N_FRAMES + 1
    assert {"with/v0/00003.png", "with/film.mp4/00003.png", "without/photo.png"} <= {
        image["file_name"] for image in coco["images"]
    }
    assert len(coco["annotations"]) == 3 * N_FRAMES
    assert {annotation["track_id"] for annotation in coco["annotations"]} == {1}


def test_the_track_file_follows_the_object(run):
    root = ElementTree.parse(run.folder.path / "tracks/with/v0.cvat.xml").getroot()
    polygons = root.findall("track/polygon")
    assert [int(polygon.get("frame")) for polygon in polygons] == list(range(N_FRAMES))
    lefts = [min(float(point.split(",")[0]) for point in polygon.get("points").split(";")) for polygon in polygons]
    assert np.corrcoef(lefts, np.arange(N_FRAMES))[0, 1] > 0.9


def test_a_repeated_run_does_nothing_and_gives_the_same_bytes(run, data):
    kept = [
        path for path in run.folder.path.rglob("*") if path.is_file() and path.name not in ("log.jsonl", "report.html")
    ]
    before = {path: path.read_bytes() for path in kept}
    annotate(data / "with", data / "without", data / "out", SETTINGS, n_jobs=1)
    again = annotate(data / "with", data / "without", data / "again", SETTINGS, n_jobs=2).folder.path
    for path, content in before.items():
        assert path.read_bytes() == content
        if path.name != "run.json":
            assert (again / path.relative_to(run.folder.path)).read_bytes() == content, path


def test_a_video_can_be_shown_and_reopened_like_an_image(run):
    index = run.find("with/v0")
    assert run.read_image(index).shape == (HEIGHT, WIDTH, 3)
    assert run.read_mask(index).shape == (HEIGHT, WIDTH)
    assert run.read_segments(index)["labels"].max() < run.bags[index].n_segments
    verdict = vote(reopen(Run(run.folder.path))).selection
    np.testing.assert_allclose(verdict.scores, run.votes["scores"], atol=1e-6)


def test_sampled_frames_only_are_annotated(data):
    settings = Settings(features="color", n_segments=20, size=96, every=3)
    sampled = annotate(data / "with", data / "without", data / "sampled", settings, n_jobs=1)
    names = sorted(path.name for path in (sampled.folder.path / "masks/with/v0").iterdir())
    assert names == ["00000.png", "00003.png", "00006.png", "00009.png"]


def test_a_damaged_frame_is_reported_and_the_rest_used(data, tmp_path):
    frames = [frame for frame, _ in make_frames(0, True)]
    write_frames(tmp_path / "with/v", frames)
    write_frames(tmp_path / "without/n", [frame for frame, _ in make_frames(10, False)])
    (tmp_path / "with/v/00004.png").write_bytes(b"x")
    settings = Settings(features="color", n_segments=20, size=96, frames="video")
    damaged = annotate(tmp_path / "with", tmp_path / "without", tmp_path / "out", settings, n_jobs=1)
    assert "00004.png" in damaged.record.problems[0].reason
    assert len(list((tmp_path / "out/masks/with/v").iterdir())) == N_FRAMES - 1


def read_files(folder):
    """Bytes by path; of run.json without the places of the images, which a copy has from elsewhere."""
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".jsonl"}
    record = json.loads(files.pop(folder / "run.json"))
    return files | {
        "record": {name: record[name] for name in record if not name.startswith(("inputs", "near_", "sha256"))}
    }


@pytest.mark.parametrize("n_frames", [4, 17])  # in the first film, and behind it
def test_a_run_stopped_while_it_draws_ends_in_the_same_bytes(run, data, tmp_path, monkeypatch, n_frames):
    out = tmp_path / "out"
    shutil.copytree(run.folder.path, out)
    annotate(data / "with", data / "without", out, SETTINGS, n_jobs=1)
    expected = read_files(out)
    for name in ("masks", "films", "tracks", "heatmaps"):
        shutil.rmtree(out / name)
    left, draw = iter(range(n_frames)), write.write_mask

    def stop(*arguments, **options):
        if next(left, None) is None:
            raise KeyboardInterrupt
        draw(*arguments, **options)

    monkeypatch.setattr(write, "write_mask", stop)
    with pytest.raises(KeyboardInterrupt):
        annotate(data / "with", data / "without", out, SETTINGS, n_jobs=1)
    monkeypatch.setattr(write, "write_mask", draw)
    annotate(data / "with", data / "without", out, SETTINGS, n_jobs=1)
    found = read_files(out)
    assert [k for k in expected["record"] if expected["record"][k] != found["record"].get(k)] == []
    assert found == expected


def test_reading_ahead_keeps_order_and_hands_errors_on():
    assert list(read_ahead(range(50))) == list(range(50))

    def fail():
        yield 1
        raise BadInputError("no more")

    items = read_ahead(fail())
    assert next(items) == 1
    with pytest.raises(BadInputError, match="no more"):
        next(items)


def test_a_run_on_videos_predicts(run, data, tmp_path):
    found = predict(run.folder.path, data / "with", tmp_path / "new", false_positive_rate=0.3, n_jobs=1)
    assert [one.name for one in found.images] == ["film.mp4", "v0", "v1"]
    assert all(one.contains for one in found.images)
    assert len(list((tmp_path / "new/masks/v0").iterdir())) == N_FRAMES


def test_bad_films_are_one_line_each_and_short_ones_are_drawn(data, tmp_path, capsys):
    folders = [shutil.copytree(data / name, tmp_path / name) for name in ("with", "without")]
    film = (folders[0] / "film.mp4").read_bytes()
    bad = {
        "empty": (b"", "the file is empty"),
        "text": (b"film" * 100, "not a video that can be opened"),
        "odd": (film.replace(b"avc1", b"zzzz"), "codec"),
    }
    for name, (content, _) in bad.items():
        (folders[0] / f"{name}.mp4").write_bytes(content)
    with open_film_writer(folders[0] / "one.mp4") as writer:
        writer.write(next(make_frames(7, True))[0], 0)
    run = annotate(*folders, tmp_path / "out", SETTINGS, n_jobs=1)
    record = run.bags[run.find("with/one.mp4")]
    assert len(run) == 7 and record.n_frames == 1 and record.has_mask
    print_outcome(run)
    printed = capsys.readouterr()
    assert "6 videos, 1 images (if that is wrong: --frames images or --frames video)" in printed.out
    for name, (_, reason) in bad.items():
        (line,) = [line for line in printed.err.splitlines() if f"{name}.mp4" in line]
        assert line.startswith("left out: ") and reason in line
