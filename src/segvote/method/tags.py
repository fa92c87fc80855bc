"""scikit-learn's tags of estimators that learn from bag labels; apart from the rest, which needs no scikit-learn."""

from __future__ import annotations

from typing import Any

from sklearn.utils import ClassifierTags


class BagLabelled:
    """scikit-learn's tags of an estimator that learns from bag labels: no classifier of segments, but of two labels."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags
