"""Prediction of one image as a task of its own, for folders in a store: the image in, its mask and a row out.

A process fetches the model once. Segments and features of an image are not kept; those of a video are, because its
frames are listed by them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from segvote.errors import BadInputError
from segvote.inputs.bags import Bag, hash_bag
from segvote.io.files import open_scratch
from segvote.io.objects import Store
from segvote.pipeline.blocks import BlockWriter, Row, make_model_key
from segvote.pipeline.extract import BagExtractor
from segvote.pipeline.model import read_model
from segvote.pipeline.predictor import Predictor
from segvote.pipeline.prepare import name_state
from segvote.pipeline.workers import Resources
from segvote.run.run_folder import RunFolder


@dataclass(frozen=True)
class ModelAddress:
    """A model in a store, and how images are predicted by it; small enough to be sent to workers."""

    uri: str  # of the folder that holds ``model.json``
    false_positive_rate: float
    device: str | None
    key: str  # see `make_model_key`


@lru_cache(maxsize=1)
def fetch_predictor(address: ModelAddress) -> Predictor:
    """The model of an address, fetched once in a process."""
    store = Store(address.uri)
    with open_scratch() as folder:
        store.get([name for name in store.list() if "/" not in name], folder)
        predictor = Predictor(read_model(folder, address.device), address.false_positive_rate)
    if make_model_key(predictor) != address.key:
        raise BadInputError(f"the model in {address.uri} has changed since the command began; repeat the command")
    return predictor


@dataclass(frozen=True)
class NewImage:
    """An image or a video to predict, not read yet, and the stem of its files."""

    bag: Bag
    stem: str

    @property
    def path(self) -> Path:
        return self.bag.path


@dataclass(frozen=True, eq=False)
class ImagePredictor:
    """Predicts an image, and writes its mask and heat map into a run folder."""

    run: RunFolder
    model: ModelAddress

    def __call__(self, image: NewImage) -> Row:
        predictor = fetch_predictor(self.model)
        settings, extractor = predictor.model.settings, predictor.model.extractor
        bag = BagExtractor(self.run, settings, extractor, name_state(extractor))(hash_bag(image.bag))
        [row] = BlockWriter(self.run, predictor, {bag.name: image.stem}).write([bag], Resources(n_jobs=1))
        if not bag.is_video:
            for folder in (self.run.segments_path(""), self.run.features_path("")):
                for path in folder.parent.glob("*"):
                    path.unlink()
        return row
