"""Learned decisions inside other people's tools; each file stands alone and needs that tool's own package."""

from segvote.integrations.models import open_predictors

__all__ = ["open_predictors"]
