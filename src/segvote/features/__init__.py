"""Features: an image and its label map in, one vector per segment out."""

from segvote.features.base import FeatureExtractor
from segvote.features.choose import FEATURES, make_features
from segvote.features.normalise import Standardiser, fit_standardiser

__all__ = ["FEATURES", "FeatureExtractor", "Standardiser", "fit_standardiser", "make_features"]
