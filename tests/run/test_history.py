"""The corrections of a log, added action by action, against the plain replay of the whole log."""

import numpy as np
import pytest

from segvote.run.correction_log import Action
from segvote.run.corrections import BAG_LABELS, N_KEPT, Corrections, History, replay

KINDS = ("set", "paint", "cut", "join", "accept", "move", "extent", "lost", "undo", "redo")


def replay_plainly(actions):
    """Every action from the first one, on stacks; then what the standing ones amount to."""
    standing, undone = [], []
    for action in actions:
        if action.kind in ("undo", "redo"):
            source, target = (standing, undone) if action.kind == "undo" else (undone, standing)
            batch = source[-1].batch if source else 0
            for _ in range(max(1, sum(one.batch == batch for one in source)) if batch else 1):
                if source:
                    target.append(source.pop())
        else:
            standing.append(action)
            undone.clear()
    images = {one.image for one in standing} - {""}
    last_whole = max((at for at, one in enumerate(standing) if one.kind == "extent" and not one.image), default=-1)

    def collect(image, *kinds):
        return tuple(one for one in standing if one.image == image and one.kind in kinds)

    def find_last(kind, since=0):
        chosen = {
            image: [one for one in standing[since:] if (one.kind, one.image) == (kind, image)] for image in images
        }
        return {image: several[-1].value for image, several in chosen.items() if several}

    return Corrections(
        strokes={image: found for image in images if (found := collect(image, "set", "paint"))},
        accepted=frozenset(image for image, value in find_last("accept").items() if value),
        moved={image: BAG_LABELS[value] for image, value in find_last("move").items()},
        divisions={image: found for image in images if (found := collect(image, "cut", "join"))},
        extent=standing[last_whole].value if last_whole >= 0 else 0,
        extents=find_last("extent", last_whole + 1),
        n_undo=len(standing),
        n_redo=len(undone),
        last=actions[-1].number if actions else 0,
        lost=tuple(one.number for one in actions if one.kind == "lost"),
    )


def make_log(rng, n_actions):
    """Random actions on four images; some are written in batches."""
    actions = []
    while len(actions) < n_actions:
        kind, first = (
            KINDS[rng.choice(len(KINDS), p=[0.2, 0.1, 0.05, 0.05, 0.1, 0.1, 0.05, 0.05, 0.2, 0.1])],
            len(actions),
        )
        n_together = 1 if kind in ("undo", "redo", "lost") else int(rng.integers(1, 4))
        for number in range(first + 1, first + 1 + n_together):
            image = "" if kind in ("undo", "redo", "lost") else f"image {rng.integers(4)}"
            if kind == "extent" and n_together == 1:
                image = ""
            value = 0 if kind in ("undo", "redo", "lost") else 1 if kind == "extent" else int(rng.integers(2))
            batch = first + 1 if n_together > 1 else 0
            actions.append(Action(kind, image, "", value, number=number, batch=batch))
    return actions


@pytest.mark.parametrize("seed", range(20))
def test_a_log_read_in_parts_gives_the_same_corrections(seed):
    rng = np.random.default_rng(seed)
    actions, history, start = make_log(rng, 80), History(), 0
    while start < len(actions):
        end = start + int(rng.integers(1, 6))
        history = history.extend(actions[start:end])
        assert history.corrections == replay_plainly(actions[:end]) == replay(actions[:end])
        start = end


def test_an_earlier_history_is_not_changed_by_a_later_one():
    first = History().extend([Action("set", "a", "", 1, number=1)])
    first.extend([Action("set", "a", "", 0, number=2), Action("move", "b", "", 1, number=3)])
    assert first == History().extend([Action("set", "a", "", 1, number=1)])


def test_a_click_shares_the_strokes_of_other_images():
    """Only the image of a new action is gone through: the cost of a click does not grow with the log."""
    before = History().extend([Action("set", f"image {one % 50}", "", 1, number=one + 1) for one in range(1000)])
    after = before.extend([Action("set", "image 7", "", 1, number=1001)])
    for image, strokes in before.corrections.strokes.items():
        assert (after.corrections.strokes[image] is strokes) == (image != "image 7")


def test_an_undo_returns_to_the_corrections_before():
    """The cost of an undo does not grow with the log: what stood before the action is kept."""
    before = History().extend([Action("set", f"image {one % 50}", "", 1, number=one + 1) for one in range(1000)])
    undone = before.extend([Action("set", "image 7", "", 1, number=1001)]).extend([Action("undo", number=1002)])
    assert all(undone.corrections.strokes[image] is one for image, one in before.corrections.strokes.items())


def test_undo_goes_back_beyond_what_is_kept():
    actions = [Action("set", "a", "", 1, number=one + 1) for one in range(N_KEPT + 50)]
    undos = [Action("undo", number=len(actions) + one + 1) for one in range(N_KEPT + 20)]
    history = History().extend(actions)
    for undo in undos:
        history = history.extend([undo])
    assert history.corrections == replay_plainly([*actions, *undos]) and len(history.kept) <= N_KEPT + 1
