"""Images that did not vote, on the page: opened on demand, corrected, and then voting with the others."""

import shutil
from contextlib import closing

import numpy as np
import pytest
from browsing import NEEDS_BROWSER, find_best, find_segment, open_image, wait_heard, wait_until, write_masks

import segvote
from segvote.datasets import make_scenes, write_scenes
from segvote.errors import BadInputError, DamagedFileError
from segvote.review.engine import Engine
from segvote.review.finishing import export_run
from segvote.review.session import Session
from segvote.run.correction_log import CorrectionLog
from segvote.run.run import Run
from segvote.settings import Settings

SAMPLED = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15}, vote_on="8")
N_VOTERS = 8
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    """A run on eight of eighteen scenes; only for reading."""
    folder = tmp_path_factory.mktemp("many")
    write_scenes(folder, make_scenes(n_with=9, n_without=9, size=(160, 120), object_area=(0.08, 0.16), seed=3))
    return segvote.annotate(folder / "with", folder / "without", folder / "run", SAMPLED, n_jobs=1)


@pytest.fixture
def copied(sampled, tmp_path):
    return Run(shutil.copytree(sampled.folder.path, tmp_path / "run"))


@pytest.fixture
def engine(copied):
    engine = Engine(copied)
    engine.voting.open(engine.board.corrections)
    yield engine
    engine.stop()


@pytest.fixture
def other(copied):
    """Number, among all images of the run, of the first *with* image that did not vote."""
    return next(one for one in range(N_VOTERS, 18) if copied.all_bags[one].bag_label == "with")


def list_results(folder):
    """The files that a user of the masks reads."""
    kept = ("masks", "heatmaps", "annotations.coco.json", "votes")
    files = [path for path in folder.rglob("*") if path.is_file() and path.relative_to(folder).parts[0] in kept]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_an_opened_image_shows_its_mask_of_the_run(engine, copied, other):
    before = engine.board.snapshot
    bag = engine.open(other)
    shown = engine.board.snapshot
    assert bag == N_VOTERS == engine.open(other) and len(engine.run) == N_VOTERS + 1
    assert not shown.is_voter[bag] and shown.is_voter[:bag].all()
    assert np.array_equal(engine.masks.draw_mask(bag), copied.read_mask(other))
    assert (shown.touched_at[:bag] == before.touched_at).all() and shown.change[bag] == 0
    with pytest.raises(BadInputError, match="did not vote"):
        engine.explain(bag, 0)


def test_opening_an_image_changes_no_vote(engine, other):
    scores = engine.board.snapshot.scores
    engine.open(other)
    engine.settle()
    assert np.array_equal(engine.board.snapshot.scores[: len(scores)], scores)


@pytest.mark.parametrize("number", [-1, 18])
def test_a_number_outside_the_run_is_refused(engine, number):
    with pytest.raises(BadInputError, match="from 0 to 17"):
        engine.open(number)


def test_a_damaged_image_does_not_open(engine, copied, other):
    copied.folder.scores_path(copied.all_bags[other].features).write_bytes(b"no scores")
    with pytest.raises(DamagedFileError):
        engine.open(other)
    assert len(engine.run) == N_VOTERS == len(engine.board.snapshot.positive)


def test_a_corrected_image_votes_as_in_an_update(engine, copied, other, tmp_path):
    bag = engine.open(other)
    worst = int(np.argmin(engine.board.snapshot.scores[engine.board.snapshot.get_slice(bag)]))
    engine.actions.set_segments(bag, [worst], 1)
    assert engine.voting.vote_at_once(engine.board.state) is None  # other images vote: that takes a vote
    voted = engine.settle()
    assert len(voted.inputs.bags) == N_VOTERS + 1 and len(voted.inputs.others) == 9
    assert engine.board.snapshot.is_voter.all()
    drawn = [engine.masks.draw_mask(one) for one in range(N_VOTERS + 1)]
    mirror = Run(shutil.copytree(copied.folder.path, tmp_path / "mirror"))
    written = export_run(voted)
    engine.note_export(voted, written)
    assert not engine.board.snapshot.change.any()
    names = {record.name: number for number, record in enumerate(written.all_bags)}
    for number, mask in enumerate(drawn):
        assert np.array_equal(written.read_mask(names[engine.run.bags[number].name]), mask)
    updated = segvote.update(mirror, n_jobs=1)
    assert updated.record.bags == written.record.bags and updated.record.predicted == written.record.predicted
    assert list_results(updated.folder.path) == list_results(written.folder.path)
    assert updated.record.key == written.record.key


def test_places_of_bags_between_the_voters_are_kept(engine, other):
    bag = engine.open(other)
    engine.actions.accept([bag], True)
    voted = engine.settle()
    shown, snapshot = {record.name: number for number, record in enumerate(engine.run.bags)}, engine.board.snapshot
    order = [shown[one.name] for one in voted.inputs.bags]
    assert order != sorted(order)  # a *with* image votes before the *without* images
    for number, scores in zip(order, np.split(voted.selection.scores, voted.selection.offsets[1:-1]), strict=True):
        assert np.array_equal(snapshot.scores[snapshot.get_slice(number)], scores)
    found = engine.explain(bag, 0)
    assert found.bag == bag and {line.bag for line in found.lines} <= set(shown.values())
    assert found.score == snapshot.scores[snapshot.get_slice(bag)][0]
    assert engine.voting.list_selections().shape[1] == len(snapshot.scores)


def test_an_undo_takes_the_image_out_of_the_vote(engine, other):
    bag = engine.open(other)
    before = engine.board.snapshot
    engine.actions.set_segments(bag, [0], 1)
    engine.settle()
    assert not np.array_equal(engine.board.snapshot.scores, before.scores)
    engine.actions.undo(engine.board.corrections.last)
    engine.settle()
    after = engine.board.snapshot
    assert np.array_equal(after.scores, before.scores) and np.array_equal(after.selected, before.selected)
    assert not after.is_voter[bag] and np.array_equal(after.thresholds, before.thresholds)


def test_an_image_corrected_elsewhere_is_opened(engine, copied, other):
    from segvote.pipeline.given_masks import make_mask_action

    record = copied.all_bags[other]
    with closing(CorrectionLog(copied.folder.corrections_path)) as log:
        log.append(make_mask_action("accept", record, 1, copied.read_mask(other)))
    engine.board.catch_up()
    assert engine.run.bags[-1].name == record.name and engine.board.snapshot.accepted[-1]
    assert Engine(copied).run.bags[-1].name == record.name


def test_an_audit_draws_images_that_vote(engine, other):
    engine.open(other)
    assert max(engine.actions.audit()) < N_VOTERS


def test_the_session_lists_images_that_did_not_vote(copied, other):
    session = Session(copied)
    listed = session.list_others()
    assert {one["number"] for one in listed} == set(range(N_VOTERS, 18))
    assert [one["isWith"] for one in listed] == sorted((one["isWith"] for one in listed), reverse=True)
    assert session.draw_other(other).startswith(b"\xff\xd8")
    answer = session.actions["open"]({"number": other})
    assert session.describe_images(N_VOTERS)[0]["name"] == copied.all_bags[other].name
    assert answer == {"bag": N_VOTERS} and session.describe_run()["nOthers"] == 10
    session.close()


def test_a_mask_of_another_image_can_be_imported(copied, other, tmp_path):
    name = copied.all_bags[other].name
    segvote.export(copied, "coco", tmp_path / "coco")
    imported = segvote.import_corrections(copied, tmp_path / "coco", confirm=True)
    assert name in imported.corrected and not imported.problems
    updated = segvote.update(copied, n_jobs=1)
    assert len(updated) == 18 and not updated.record.predicted


def test_the_extent_of_an_image_outside_makes_it_vote(copied, other):
    name = copied.all_bags[other].name
    updated = segvote.set_extent(copied, 5, image=name, n_jobs=1)
    assert name in {bag.name for bag in updated.bags} and len(updated) == N_VOTERS + 1
    assert segvote.update(updated, n_jobs=1).record.bags == updated.record.bags


def test_commands_vote_with_saved_corrections_of_others(copied, other):
    from segvote.pipeline.given_masks import make_mask_action

    record, mask = copied.all_bags[other], np.zeros((120, 160), dtype=bool)
    mask[:40, :40] = True
    with closing(CorrectionLog(copied.folder.corrections_path)) as log:
        log.append(make_mask_action("accept", record, 1, mask))
    current = segvote.load_run(copied.folder.path)
    number = current.find(record.name)
    assert len(current) == N_VOTERS + 1 and np.array_equal(current.read_mask(number), mask)
    assert current.explain(record.name).lines


@pytest.mark.browser
@NEEDS_BROWSER[1]
def test_the_page_opens_corrects_and_writes(copied, serve_in_thread, open_page, other):
    with serve_in_thread(copied.folder.path) as address:
        page = open_page(address)
        page.locator("#filters [data-filter=predicted]").click()
        cards = page.locator("#list .other")
        wait_until(page, "() => document.querySelectorAll('#list .other').length === 10")
        cards.first.locator("button").click()
        wait_until(page, f"() => segvote.store.current === {N_VOTERS}")
        open_image(page, N_VOTERS)
        assert "did not vote" in page.locator("#image-facts").inner_text()
        assert page.locator("#list .other").count() == 9
        page.mouse.click(*find_segment(page, find_best(page)))
        wait_heard(page, 1)
        wait_until(page, f"() => !segvote.store.images[{N_VOTERS}].predicted")
        write_masks(page)
        name = page.evaluate(f"() => segvote.store.run.images[{N_VOTERS}].name")
    written = Run(copied.folder.path)
    assert name in {bag.name for bag in written.bags} and len(written) == N_VOTERS + 1
